// msdbg compile, and --passes of other commands, as a user calls them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"

namespace msdbg::test {

using Json = nlohmann::ordered_json;

namespace {

Json compiled(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compile");
  arguments.push_back("--json");
  const RunResult result = runMsdbg(arguments);
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  return Json::parse(result.out);
}

Json passOf(const Json& document, const std::string& name) {
  for (const Json& pass : document["passes"])
    if (pass["name"] == name) return pass;
  return {};
}

}  // namespace

TEST_CASE("compile lists every pass with what it changed, and counts the steps that are left", "[cli]") {
  const Json gpt = compiled({"gpt"});
  CHECK(gpt["passes"].size() == 16);
  CHECK(passOf(gpt, "differentiate")["over"] == "graph");
  CHECK(passOf(gpt, "constant_folding")["changes"].size() == 2);  // positions and the causal mask
  CHECK(passOf(gpt, "constant_folding")["changes"][0] == "network/positions/Range-op1 is computed once");
  std::size_t steps = 0;
  for (const auto& [how, count] : gpt["steps"].items()) steps += count.get<std::size_t>();
  CHECK(steps == gpt["nodes"]);
  CHECK(gpt["steps"]["view"] == passOf(gpt, "identities")["changes"].size());

  const Json none = compiled({"gpt", "--passes", "none"});
  CHECK(none["steps"]["run"] == gpt["nodes"]);
  CHECK(passOf(none, "memory")["summary"] == "(off)");
  CHECK(passOf(compiled({"gpt", "--passes", "-memory"}), "memory")["on"] == false);
}

TEST_CASE("compile --diff shows the lines that a pass changed, in the graph or in the plan", "[cli]") {
  const std::string plan = runMsdbg({"compile", "lenet5", "--diff", "identities"}).out;
  CHECK_THAT(plan, Catch::StartsWith("--- before identities\n+++ after identities\n@@ -"));
  CHECK_THAT(plan, Catch::Contains("= view Flatten(network/conv2/MaxPool-op1:0)"));
  const std::string graph = runMsdbg({"compile", "mlp", "--diff", "allreduce_gradients", "-n", "2"}).out;
  CHECK_THAT(graph, Catch::Contains("= Allreduce("));
  CHECK(runMsdbg({"compile", "mlp", "--diff", "allreduce_gradients"}).out == "");
}

TEST_CASE("Unknown passes are answered with the nearest, wherever they are given", "[cli]") {
  const RunResult diff = runMsdbg({"compile", "mlp", "--diff", "identites"});
  CHECK(diff.exitStatus == 2);
  CHECK_THAT(diff.err, Catch::Contains("there is no pass 'identites'; did you mean identities"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"compile", "mlp"}, {"bench", "mlp"}, {"dump", "mlp", "--dry-run"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--passes", "-memry"});
    const RunResult result = runMsdbg(words);
    CHECK(result.exitStatus == 2);
    CHECK_THAT(result.err, Catch::Contains("--passes: there is no pass 'memry'; did you mean memory?"));
  }
  const RunResult variable = runMsdbg({"compile", "mlp"}, {.environment = {{"MSDBG_PASSES", "x,y"}}});
  CHECK(variable.exitStatus == 2);
  CHECK_THAT(variable.err, Catch::Contains("MSDBG_PASSES: there is no pass 'x'"));
  for (const char* command : {"compile", "dump"}) {
    const RunResult scope = runMsdbg({command, "gpt", "--recompute", "blok1"});
    CHECK(scope.exitStatus == 2);
    CHECK_THAT(scope.err, Catch::Contains("no scope of the forward pass matches 'blok1'; did you mean"));
  }
}

}  // namespace msdbg::test
