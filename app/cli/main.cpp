#include "app/cli/command.h"

int main(int argc, char** argv) { return msdbg::app::runCommandLine(argc, argv); }
