// What `msdbg --version` says: the version, and which optional parts are built in.
#pragma once

#include <string>

namespace msdbg::app {
std::string versionText();
}
