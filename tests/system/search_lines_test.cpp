// The chain from source line to kernel, both ways, over every line of every model: as a user asks, through
// `search`.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::test;
using nlohmann::json;

namespace {

json search(const std::string& run, const std::string& query, int* status = nullptr) {
  const RunResult result = runMsdbg({"search", run, query, "--json"});
  if (status) *status = result.exitStatus;
  return result.out.empty() ? json() : json::parse(result.out);
}

std::set<std::string> names(const json& nodes) {
  std::set<std::string> all;
  for (const json& n : nodes) all.insert(n.at("name"));
  return all;
}

/// What line `line` must give, from the whole graph: forward nodes with a frame there, and all derived from
/// them.
std::set<std::string> expected(const json& nodes, const std::string& file, int line) {
  std::set<std::string> wanted;
  for (const json& n : nodes)
    if (n.at("phase") == "forward")
      for (const json& f : n.at("frames"))
        if (f.at("file") == file && f.at("line") == line) wanted.insert(n.at("name"));
  std::set<std::string> all = wanted;
  for (const json& n : nodes)
    if (!n.at("derived_from").is_null() && wanted.count(n.at("derived_from"))) all.insert(n.at("name"));
  return all;
}

/// Operator calls in a line of a model's source, by the operator they make.
std::map<std::string, int> calls(const std::string& code) {
  const std::map<std::string, std::string> functions = {{"conv(", "Conv"},
                                                        {"linear(", "Gemm"},
                                                        {"relu(", "Relu"},
                                                        {"maxPool(", "MaxPool"},
                                                        {"flatten(", "Flatten"},
                                                        {"dropout(", "Dropout"},
                                                        {"softmaxCrossEntropy(", "SoftmaxCrossEntropyLoss"}};
  std::map<std::string, int> found;
  for (const auto& [call, op] : functions)
    for (std::size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) ++found[op];
  return found;
}

void checkModel(const std::string& model) {
  TempDir folder;
  const std::string run = (folder / (model + ".msdbg")).string();
  RunOptions options;
  options.timeout = std::chrono::seconds(180);
  const RunResult dumped =
      runMsdbg({"dump", model, "-n", "2", "--steps", "1", "--policy", "stats", "-o", run}, options);
  INFO(dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const json nodes = search(run, "*").at("nodes");
  const std::string file = "core_engine/models/" + model + ".cpp";
  std::ifstream source(sourceDir() / file);
  std::set<std::string> reached;
  int number = 0, linesWithNodes = 0;
  for (std::string code; std::getline(source, code);) {
    ++number;
    INFO(file << ":" << number << "  " << code);
    int status = 0;
    const json found = search(run, model + ".cpp:" + std::to_string(number), &status);
    const std::set<std::string> wanted = expected(nodes, file, number);
    if (wanted.empty()) {
      CHECK(status == 2);
      continue;
    }
    ++linesWithNodes;
    REQUIRE(status == 0);
    CHECK(names(found.at("nodes")) == wanted);
    for (const json& n : found.at("nodes")) CHECK_FALSE(n.at("kernels").empty());
    reached.insert(wanted.begin(), wanted.end());
    // The calls written in the line are among its nodes (a loop makes several nodes of one line).
    for (const auto& [op, count] : calls(code)) {
      int made = 0;
      for (const json& n : found.at("nodes")) made += n.at("phase") == "forward" && n.at("op_type") == op;
      CHECK(made >= count);
    }
  }
  CHECK(linesWithNodes >= 3);
  CHECK(reached == names(nodes));  // 100 % of the nodes lie behind a line
}

}  // namespace

TEST_CASE("Every source line of mlp gives exactly its nodes", "[slow]") { checkModel("mlp"); }
TEST_CASE("Every source line of lenet5 gives exactly its nodes", "[slow]") { checkModel("lenet5"); }
TEST_CASE("Every source line of alexnet gives exactly its nodes", "[slow]") { checkModel("alexnet"); }
