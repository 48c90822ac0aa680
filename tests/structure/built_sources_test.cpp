// A source that no CMakeLists.txt names is never compiled: a test in it would seem to pass.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "tests/support/run_command.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// By its name, or in a list of a loop over `${name}.cpp`.
bool names(const std::string& list, const fs::path& source) {
  if (list.find(source.filename()) != std::string::npos) return true;
  return list.find("}.cpp") != std::string::npos &&
         std::regex_search(list, std::regex("\\b" + source.stem().string() + "\\b"));
}

/// By the CMakeLists.txt of its folder, or of one above it.
bool isNamed(const fs::path& source) {
  for (fs::path folder = source.parent_path(); folder != sourceDir().parent_path();
       folder = folder.parent_path())
    if (names(textOf(folder / "CMakeLists.txt"), source)) return true;
  return false;
}

}  // namespace

TEST_CASE("Every source file is built", "[structure]") {
  int sources = 0;
  for (fs::recursive_directory_iterator entry(sourceDir()), end; entry != end; ++entry) {
    const fs::path path = entry->path();
    if (path.filename() == "build" || path.filename().string().starts_with("."))
      entry.disable_recursion_pending();
    if (path.extension() != ".cpp") continue;
    ++sources;
    CAPTURE(path);
    CHECK(isNamed(path));
  }
  CHECK(sources > 500);
}

}  // namespace msdbg::test
