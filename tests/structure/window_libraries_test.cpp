// What the window needs is the window's alone: the command line must run where no Qt is installed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/support/run_command.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

const std::regex kWindowLibrary(R"(lib(Qt6\w+|qscintilla2_qt6|QCustomPlotQt6|gvc|cgraph)\.so)");

const std::regex kEngineLibrary(R"(lib(dnnl|mpi|open-rte)\.so)"),
    kCudaLibrary(R"(lib(cu(da|dart|blas|blasLt|dnn\w*|pti)|nvrtc|nccl)\.so)");

// The libraries of a kind that the loader would load for a program.
Names librariesOf(const fs::path& program, const std::regex& kind) {
  const RunResult result = runCommand({"ldd", program.string()});
  REQUIRE(result.exitStatus == 0);
  Names found;
  for (std::sregex_iterator match(result.out.begin(), result.out.end(), kind), end; match != end; ++match)
    found.push_back(match->str());
  return found;
}

Names windowLibrariesOf(const fs::path& program) { return librariesOf(program, kWindowLibrary); }

// The CMake files, those of the tests apart, that name one of the window's dependencies.
Names filesThatLink(const std::regex& dependency) {
  Names files;
  for (fs::recursive_directory_iterator entry(sourceDir()), end; entry != end; ++entry) {
    const std::string path = fs::relative(*entry, sourceDir()).generic_string();
    if (path == "build" || path == "tests" || path.starts_with(".")) entry.disable_recursion_pending();
    if (!path.ends_with("CMakeLists.txt")) continue;
    std::ifstream in(entry->path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (std::regex_search(text, dependency)) files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

TEST_CASE("msdbg loads none of the window's libraries, msdbg-gui does", "[structure]") {
  CHECK(windowLibrariesOf(buildDir() / "bin/msdbg") == Names{});
  if (fs::exists(buildDir() / "bin/msdbg-gui"))
    CHECK(windowLibrariesOf(buildDir() / "bin/msdbg-gui").size() >= 5);
  else
    WARN("msdbg-gui is not built here");
}

TEST_CASE("The window loads nothing of the engine that trained", "[structure]") {
  CHECK(librariesOf(buildDir() / "bin/msdbg", kEngineLibrary).size() >= 1);
  if (fs::exists(buildDir() / "bin/msdbg-gui"))
    CHECK(librariesOf(buildDir() / "bin/msdbg-gui", kEngineLibrary) == Names{});
}

// It is opened by --backend cuda, from a module; that one finds the rest itself.
TEST_CASE("Nothing of CUDA is loaded by any program, nor by the module", "[structure]") {
  for (const char* file : {"bin/msdbg", "bin/msdbg-gui", "tests/test_device", "lib/msdbg/libmsdbg_cuda.so"}) {
    CAPTURE(file);
    if (fs::exists(buildDir() / file)) CHECK(librariesOf(buildDir() / file, kCudaLibrary) == Names{});
  }
}

TEST_CASE("The module for CUDA shows one function", "[structure]") {
  const fs::path module = buildDir() / "lib/msdbg/libmsdbg_cuda.so";
  if (!fs::exists(module)) {
    WARN("there was no CUDA toolkit when this was built");
    return;
  }
  const std::string symbols = runCommand({"nm", "-D", "--defined-only", module.string()}).out;
  CHECK(std::ranges::count(symbols, '\n') == 1);
  CHECK(symbols.find(" T msdbgOpenDevice\n") != std::string::npos);
}

TEST_CASE("No program but the window and its tests loads the window's libraries", "[structure]") {
  int programs = 0;
  for (const char* folder : {"bin", "tests"})
    for (const auto& entry : fs::directory_iterator(buildDir() / folder)) {
      const std::string name = entry.path().filename();
      const bool program = entry.is_regular_file() &&
                           (entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none;
      if (!program || name == "msdbg-gui" || name == "msdbg_gui_bench" || name == "test_gui" ||
          name == "test_window")
        continue;
      CAPTURE(name);
      CHECK(windowLibrariesOf(entry) == Names{});
      ++programs;
    }
  CHECK(programs >= 2);
}

TEST_CASE("The window's dependencies are linked by graph_view and app alone", "[structure]") {
  CHECK(filesThatLink(std::regex("msdbg_dep::(qt_|qscintilla|qcustomplot)")) ==
        Names{"app/CMakeLists.txt", "app/gui/CMakeLists.txt", "graph_view/CMakeLists.txt"});
}

}  // namespace msdbg::test
