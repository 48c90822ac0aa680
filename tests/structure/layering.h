// Checks the repository's own rules by reading its text: which folder may include which, which library
// headers must stay out of public headers, and that every file of a family (operators, conditions, commands)
// has its row in the family's only list. Pure functions of the tree they are given; any thread may call.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace msdbg::test {

// One line for each breach, "file:line: what"; empty where all is well. The tree's root is the repository's.
std::vector<std::string> layeringBreaches(const std::filesystem::path& root);
std::vector<std::string> missingRows(const std::filesystem::path& root);

}  // namespace msdbg::test
