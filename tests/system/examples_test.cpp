// What a user finds beside an installed msdbg: examples and the guide's pieces compile and record, and only
// what <msdbg/msdbg.h> leads to is installed.
#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/documents.h"
#include "tests/support/temp_dir.h"
#include "tests/system/installed.h"

using namespace msdbg::test;
namespace fs = std::filesystem;

namespace {

const std::string kGuide = "resources/guide/own_program.md";

std::set<std::string> installedHeaders() {
  const fs::path include = installedPrefix() / "include/msdbg";
  std::set<std::string> headers;
  for (const auto& entry : fs::recursive_directory_iterator(include))
    if (entry.is_regular_file()) headers.insert(fs::relative(entry.path(), include).string());
  return headers;
}

/// Records a few steps on so many ranks; no fault may be found in them.
void recordAndCheck(const fs::path& program, int ranks, const fs::path& run) {
  CAPTURE(program.filename().string(), ranks);
  mustRun({installedMsdbg(), "dump", "-n", std::to_string(ranks), "--threads", "1", "--steps", "6", "-o",
           run.string(), "--", program.string()});
  CHECK(infoOf(run).at("state") == "finished");
  CHECK(infoOf(run).at("ranks").size() == static_cast<std::size_t>(ranks));
  const RunResult checked = runCommand({installedMsdbg(), "check", run.string()});
  INFO(checked.out << checked.err);
  CHECK(checked.exitStatus == 0);
}

/// What the README tells of it: found, proved, explained, of 41,260 iterations with statistics alone.
void explainTheNight(const fs::path& program, const fs::path& run) {
  mustRun({installedMsdbg(), "dump", "--policy", "stats", "--threads", "1", "-o", run.string(), "--",
           program.string()});
  const auto said = [&](std::vector<std::string> words, int exitStatus) {
    words.insert(words.begin(), installedMsdbg());
    const RunResult result = runCommand(words);
    INFO(result.out << result.err);
    CHECK(result.exitStatus == exitStatus);
    return result.out;
  };
  using Catch::Contains;
  CHECK_THAT(said({"info", run.string()}, 0),
             Contains("iterations 0-41259 can be computed again, which takes"));
  CHECK_THAT(said({"check", run.string()}, 3), Contains("at energy/Log-op1, rank 0, iteration 41237"));
  CHECK_THAT(said({"replay", run.string(), "--iteration", "41237", "--prove"}, 0),
             Contains("computed again, every byte is the recorded one"));
  CHECK_THAT(said({"why", run.string()}, 0),
             Contains("is in sample 13 of the batch of iteration 41237 on rank 0"));
}

std::string textOf(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// What a page's links lead to in its own repository or prefix: [text](target).
std::vector<std::string> linksOf(const std::string& page) {
  static const std::regex kLink(R"(\]\(([^)#\s]+)\))");
  std::vector<std::string> links;
  for (std::sregex_iterator link(page.begin(), page.end(), kLink), end; link != end; ++link)
    if (const std::string target = (*link)[1]; target.find("://") == std::string::npos)
      links.push_back(target);
  return links;
}

/// Every ```cpp block of the page that is a whole program.
std::vector<std::string> programsOf(const std::string& page) {
  const std::string kBegin = "```cpp\n", kEnd = "```";
  std::vector<std::string> programs;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at)) {
    at += kBegin.size();
    const std::string block = page.substr(at, page.find(kEnd, at) - at);
    if (block.find("int main") != std::string::npos) programs.push_back(block);
    at += block.size() + kEnd.size();
  }
  return programs;
}

}  // namespace

TEST_CASE("The links of the guide lead somewhere, in the repository and where it is installed") {
  for (const fs::path& folder : {sourceDir() / "resources/guide", installedPrefix() / "share/msdbg/guide"}) {
    int pages = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      ++pages;
      for (const std::string& link : linksOf(textOf(entry.path()))) {
        CAPTURE(entry.path().string(), link);
        CHECK(fs::exists(folder / link));
      }
    }
    CHECK(pages == 9);
  }
  CHECK(fs::exists(installedPrefix() / "share/msdbg/FORMAT.md"));
}

TEST_CASE("Every whole program of the guide compiles, trains and is recorded without a fault", "[slow]") {
  const TempDir folder;
  std::ofstream list(folder / "CMakeLists.txt");
  list << "cmake_minimum_required(VERSION 3.25)\nproject(guide CXX)\nfind_package(msdbg REQUIRED)\n";
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(installedPrefix() / "share/msdbg/guide"))
    for (const std::string& program : programsOf(textOf(entry.path()))) {
      names.push_back(entry.path().stem().string() + std::to_string(names.size()));
      std::ofstream(folder / (names.back() + ".cpp")) << program;
      list << "add_executable(" << names.back() << " " << names.back() << ".cpp)\ntarget_link_libraries("
           << names.back() << " PRIVATE msdbg::msdbg)\n";
    }
  list.close();
  REQUIRE(names.size() == 1);
  const fs::path build = buildAgainstPrefix(folder.path(), folder / "build");
  for (const std::string& name : names) recordAndCheck(build / name, 1, folder / (name + ".msdbg"));
}

TEST_CASE("Every installed example builds, trains, and is recorded without a fault", "[slow]") {
  const TempDir folder;
  const fs::path sources = installedPrefix() / "share/msdbg/examples";
  const fs::path build = buildAgainstPrefix(sources, folder / "build");
  int examples = 0;
  for (const auto& entry : fs::directory_iterator(sources)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string name = entry.path().stem().string();
    recordAndCheck(build / name, 1, folder / (name + ".msdbg"));
    ++examples;
  }
  CHECK(examples == 6);
  const auto metrics = infoOf(folder / "cnn.msdbg").at("metrics");  // its fit() evaluates
  REQUIRE(metrics.size() == 4);
  CHECK(metrics[3].at("name") == "val_loss");
  CHECK(metrics[3].at("values").back().at("iteration") == 5);
  CHECK_THAT(runCommand({installedMsdbg(), "check", (folder / "cnn.msdbg").string()}).out,
             Catch::Contains("val_loss "));
  recordAndCheck(build / "ranks", 2, folder / "two.msdbg");
  recordAndCheck(build / "autoencoder", 2, folder / "waves.msdbg");
  explainTheNight(build / "night", folder / "whole_night.msdbg");
}

TEST_CASE("Each installed header compiles by itself, and none is private", "[slow]") {
  const TempDir folder;
  std::ofstream list(folder / "CMakeLists.txt");
  list << "cmake_minimum_required(VERSION 3.25)\nproject(headers CXX)\nfind_package(msdbg REQUIRED)\n"
       << "add_library(headers OBJECT";
  int number = 0;
  const std::set<std::string> headers = installedHeaders();
  for (const std::string& header : headers) {
    CAPTURE(header);
    CHECK(header.find("_internal") == std::string::npos);
    const std::string file = "header" + std::to_string(number++) + ".cpp";
    std::ofstream(folder / file) << "#include <msdbg/" << header << ">\n";
    list << " " << file;
  }
  list << ")\ntarget_link_libraries(headers PRIVATE msdbg::msdbg)\n";
  list.close();
  CHECK(headers.contains("msdbg.h"));
  CHECK(headers.size() < 45);
  buildAgainstPrefix(folder.path(), folder / "build");
}

TEST_CASE("The loss and the training that the guide shows compile and train", "[slow]") {
  const TempDir folder;
  std::ofstream(folder / "CMakeLists.txt") << "cmake_minimum_required(VERSION 3.25)\nproject(guide CXX)\n"
                                           << documentBlock(kGuide, "## Building", "cmake");
  std::ofstream(folder / "train.cpp")
      << "#include <msdbg/msdbg.h>\n"
      << documentBlock(kGuide, "## A loss of your own", "cpp")
      << "int main(int argc, char** argv) {\n"
         "  msdbg::Session run(argc, argv);\n"
         "  msdbg::Graph g(\"guide\");\n"
         "  auto x = g.input(\"x\", {8, 1, 8, 8});\n"
         "  auto label = g.input(\"label\", {8}, msdbg::DType::Int64);\n"
         "  auto loss = huber(linear(flatten(x), {.out = 64}), flatten(x)) +\n"
         "              softmaxCrossEntropy(linear(flatten(x), {.out = 10}), label);\n"
         "  msdbg::Trainer trainer(run, g, loss, msdbg::Sgd{});\n"
         "  const auto make = [](std::int64_t first) {\n"
         "    return msdbg::makeLoader(\"digits\", {.image = {1, 8, 8}, .batch = 8, .firstSample = first,\n"
         "                                         .samples = 16}).orThrow();\n"
         "  };\n"
         "  const auto loader = make(0), heldOut = make(16);\n"
      << documentBlock(kGuide, "## Epochs", "cpp") << "}\n";
  const fs::path build = buildAgainstPrefix(folder.path(), folder / "build");
  recordAndCheck(build / "train", 1, folder / "guide.msdbg");
}
