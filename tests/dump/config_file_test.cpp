// Recording options as JSON: the config file, what is wrong with one and in which line, run.json.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "dump/policy/record_options.h"
#include "dump/run_info.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using namespace msdbg::dump;
using nlohmann::json;

namespace {

std::vector<std::string> ruleTexts(const RecordOptions& options) {
  std::vector<std::string> texts;
  for (const Rule& rule : options.rules) texts.push_back(ruleText(rule));
  return texts;
}

std::string mistake(const std::string& text) {
  const auto options = RecordOptions::fromJson(text);
  if (options.ok()) return "none";
  CHECK(options.error().code() == core::ErrorCode::kUsage);
  return options.error().message();
}

json exampleJson() {
  return json::parse(test::readText(test::sourceDir() / "resources/recording.example.json"), nullptr, true,
                     true);
}

json schemaJson() {
  return json::parse(test::readText(test::sourceDir() / "resources/recording.schema.json"));
}

}  // namespace

TEST_CASE("A config file says the same as flags and rules") {
  const test::TempDir folder;
  test::writeText(folder / "recording.json", R"json({
    // comments are allowed
    "$schema": "recording.schema.json",
    "policy": "none", "tensors": ["a", "b*"], "iterations": "0,2-4,100-", "every": 2,
    "max_bytes": "10GB", "buffer_bytes": 1000, "compress": "none", "write": "thread-direct",
    "watchdog_seconds": 2.5,
    "rules": [
      {"tensors": "grad(*)", "policy": "full", "every": 10},
      {"policy": "stats", "kind": ["weight", "loss"], "op": "Conv*", "dtype": ["float32"], /* and */
       "iterations": [0, "2-4"], "ranks": 0, "regex": "a,b"},
      "*fc2*=none,ranks=1"
    ]
  })json");
  const auto options = RecordOptions::fromFile(folder / "recording.json", {});
  REQUIRE(options.ok());
  CHECK(options->policy == Policy::kNone);
  CHECK(options->tensors == std::vector<std::string>{"a", "b*"});
  CHECK(options->iterations.text() == "0,2-4,100-");
  CHECK(options->every == 2);
  CHECK(options->write == dump::WritingWay{.direct = true});
  CHECK(options->maxBytes == 10'000'000'000u);
  CHECK(options->bufferBytes == 1000);
  CHECK_FALSE(options->compress);
  CHECK(RecordOptions().compress);
  CHECK(options->watchdogSeconds == 2.5);
  CHECK(ruleTexts(*options) ==
        std::vector<std::string>{
            "grad(*)=full,every=10",
            "*=stats,kind=weight,loss,op=Conv*,dtype=float32,iterations=0,2-4,ranks=0,regex=a,b",
            "*fc2*=none,ranks=1"});
}

TEST_CASE("Keys that a config does not have stay as they were") {
  RecordOptions base;
  base.maxBytes = 5;
  base.tensors = {"a"};
  const auto options = RecordOptions::fromJson(R"({"every": 3})", base);
  REQUIRE(options.ok());
  CHECK(options->maxBytes == 5);
  CHECK(options->tensors == base.tensors);
  CHECK(options->every == 3);
}

TEST_CASE("A mistake in a config names its line, its key and the nearest one") {
  using Catch::Equals;
  using Catch::StartsWith;
  CHECK_THAT(mistake("{\n  \"polcy\": \"full\"\n}"),
             Equals("line 2: polcy: there is no such key; did you mean policy?"));
  CHECK_THAT(mistake("{\n\n\"zzz\": 1}"),
             StartsWith("line 3: zzz: there is no such key; there are rules, policy,"));
  CHECK_THAT(
      mistake("{\"rules\": [\n  {\"policy\": \"full\"},\n  {\"policy\": \"full\",\n   \"evry\": 10}]}"),
      Equals("line 4: rules[1].evry: 'evry' is no key; did you mean every?"));
  CHECK_THAT(
      mistake("{\"rules\": [\n  {\n    \"policy\": \"full\",\n    \"kind\": [\"loss\",\n\n  \"wieght\"]}]}"),
      StartsWith("line 4: rules[0].kind: 'wieght' is no kind; did you mean weight?"));
  CHECK_THAT(mistake("{\n\"every\": 0\n}"), Equals("line 2: every: '0' is not a whole number from 1"));
  CHECK_THAT(mistake("{\n\"every\": true}"), Equals("line 2: every: a whole number is expected, not true"));
  CHECK_THAT(mistake("{\n\"every\": \"10\"}"),
             Equals("line 2: every: a whole number is expected, not \"10\""));
  CHECK_THAT(mistake("{\"rules\": [{\"policy\": \"full\",\n\"every\": [10]}]}"),
             Equals("line 2: rules[0].every: a whole number is expected, not an array"));
  CHECK_THAT(mistake("{\n\"iterations\": true}"),
             StartsWith("line 2: iterations: a text, a whole number or a list"));
  CHECK_THAT(mistake("{\n\"policy\": \"ful\"}"),
             StartsWith("line 2: policy: 'ful' is no policy; there are full"));
  CHECK_THAT(mistake("{\n\"policy\": {}}"), StartsWith("line 2: policy: a text is expected, not an object"));
  CHECK_THAT(mistake("{\n\"max_bytes\": -1}"), StartsWith("line 2: max_bytes: size '-1'"));
  CHECK_THAT(mistake("{\n\"watchdog_seconds\": -1}"), StartsWith("line 2: watchdog_seconds: -1 is not"));
  CHECK_THAT(mistake("{\n\"rules\": {}}"), StartsWith("line 2: rules: a list of rules is expected"));
  CHECK_THAT(mistake("{\n\"rules\": [\n1,\n2\n]}"), StartsWith("line 3: rules[0]: a rule is expected"));
  CHECK_THAT(mistake("{\n\"rules\": [\n\"*=full\",\n\"a=ful\"\n]}"),
             StartsWith("line 4: rules[1]: 'a=ful': policy"));
  CHECK_THAT(mistake("{\n\"rules\": [\n{\"tensors\": \"a\"}]}"),
             StartsWith("line 3: rules[0]: the key policy is missing"));
  CHECK_THAT(mistake("{\"rules\": [{\"policy\": \"full\",\n\"tensors\": [\"a\", [1]]}]}"),
             StartsWith("line 2: rules[0].tensors[1]: a text is expected, not an array"));
  CHECK_THAT(mistake("{\n\"every\": 1,\n\"every\": 2}"),
             Equals("line 3: the key every is given twice, in line 2 too"));
}

TEST_CASE("What on_hit says needs conditions, those of the config or of what it adds to") {
  CHECK(mistake("{\n\"on_hit\": {\"before\": 1}}") ==
        "line 2: on_hit: conditions are missing, such as \"conditions\": \"recommended\"");
  CHECK(mistake("{\"on_hit\": {\"conditions\": [], \"before\": 1}}") == "none");  // off
  RecordOptions base;
  base.onHit.conditions = {"tensor_overflow"};
  const auto options = RecordOptions::fromJson("{\"on_hit\": {\"before\": 5}}", base);
  REQUIRE(options.ok());
  CHECK(options->onHit.before == 5);
  CHECK(schemaJson().at("properties").at("on_hit").at("required") == json::array({"conditions"}));
}

TEST_CASE("What is no JSON is said with line and column") {
  using Catch::StartsWith;
  CHECK_THAT(mistake("{\n  \"every\": 1,\n}"), StartsWith("not JSON: line 3, column 1"));
  CHECK_THAT(mistake("{\n  \"every\" 1}"), StartsWith("not JSON: line 2, column"));
  CHECK_THAT(mistake(""), StartsWith("not JSON: line 1"));
  CHECK_THAT(mistake("[]"), StartsWith("line 1: not a JSON object"));
  CHECK_THAT(mistake("7"), StartsWith("line 1: not a JSON object"));
  CHECK_THAT(mistake("{} x"), StartsWith("not JSON: line 1"));
  CHECK_THAT(mistake("{\n\"a\":" + std::string(100000, '[')), StartsWith("line 2: nested too deeply"));
  CHECK_THAT(mistake("\xff"), StartsWith("not JSON: line 1"));
}

TEST_CASE("A config file that is not there or too large is named") {
  const test::TempDir folder;
  const auto missing = RecordOptions::fromFile(folder / "no.json", {});
  CHECK(missing.error().code() == core::ErrorCode::kUsage);
  CHECK_THAT(missing.error().message(), Catch::Contains("no.json"));
  test::writeText(folder / "bad.json", "{\"every\":\n0}");
  CHECK_THAT(RecordOptions::fromFile(folder / "bad.json", {}).error().message(),
             Catch::Contains("bad.json: line 1: every"));
}

TEST_CASE("The example config is read, and its schema has the keys and values that there are") {
  const auto options = RecordOptions::fromFile(test::sourceDir() / "resources/recording.example.json", {});
  if (!options.ok()) FAIL(options.error().message());
  CHECK(options->rules.size() >= 4);
  const json schema = schemaJson();
  RecordOptions everything;
  everything.onHit.conditions = {"tensor_overflow"};  // said only when there is one; so are these two
  everything.checkpointEvery = 5;
  everything.batches = true;
  const json known = json::parse(everything.toJson());
  const json& properties = schema.at("properties");
  for (const auto& [key, value] : known.items()) CHECK(properties.contains(key));
  CHECK(properties.size() == known.size() + 1);  // and $schema
  const json& rule = schema.at("$defs").at("rule").at("properties");
  for (const RuleKey& key : ruleKeys()) CHECK(rule.contains(std::string(key.name)));
  CHECK(rule.size() == ruleKeys().size());
  for (const char* key : {"kind", "dtype"})
    for (const json& name : schema.at("$defs").at(key).at("enum"))
      CHECK(parseRule("*=full," + std::string(key) + "=" + name.get<std::string>()).ok());
  for (const json& name : schema.at("$defs").at("policy").at("enum"))
    CHECK(policyFromName(name.get<std::string>()).ok());
  const json example = exampleJson();
  for (const auto& [key, value] : example.items()) CHECK(properties.contains(key));
}

TEST_CASE("Rules are said in run.json, and its policy is a config file as it stands") {
  const test::TempDir folder;
  RunInfo info;
  for (const char* rule : {"grad(*)=full,every=10", "*=none,kind=label,dtype=int64,ranks=1-,regex=x"})
    info.policy.rules.push_back(parseRule(rule).orThrow());
  REQUIRE(writeRunInfo(folder.path(), info).ok());
  const json policy = json::parse(test::readText(folder / "run.json")).at("policy");
  CHECK(policy.at("rules") == json::parse(R"json([
      {"tensors": ["grad(*)"], "policy": "full", "every": 10},
      {"policy": "none", "kind": ["label"], "dtype": ["int64"], "ranks": "1-", "regex": "x"}])json"));
  CHECK(policy.at("policy") == "stats");  // what the rest has
  const auto back = readRunInfo(folder.path());
  REQUIRE(back.ok());
  CHECK(back->toJson() == info.toJson());
  CHECK(ruleTexts(back->policy) == ruleTexts(info.policy));
  const auto config = RecordOptions::fromJson(policy.dump());
  REQUIRE(config.ok());
  CHECK(config->toJson() == info.policy.toJson());
}

TEST_CASE("A run.json from before there were rules is read") {
  const auto info = RunInfo::fromJson(
      R"({"format":[1,0],"policy":{"policy":"full","tensors":["*conv1*"],"iterations":"0-","every":3,)"
      R"("max_bytes":500,"buffer_bytes":7,"watchdog_seconds":30.0}})",
      "run.json");
  REQUIRE(info.ok());
  CHECK(info->policy.rules.empty());
  CHECK(info->policy.policy == Policy::kFull);
  CHECK(info->policy.tensors == std::vector<std::string>{"*conv1*"});
  CHECK(info->policy.every == 3);
  CHECK(info->policy.maxBytes == 500);
  CHECK(RunInfo::fromJson(R"({"format":[1,0]})", "run.json")->policy.restPolicy() == Policy::kFull);
}

TEST_CASE("Keys and rules of a newer version in run.json's policy are kept when it is rewritten") {
  const std::string text = R"({"format":[1,9],"policy":{"policy":"stats","keep_last":5,"every":2,)"
                           R"("rules":[{"tensors":["a"],"policy":"record","colour":"red"}]}})";
  const auto info = RunInfo::fromJson(text, "run.json");
  REQUIRE(info.ok());
  CHECK(info->policy.rules.empty());
  CHECK(info->policy.every == 2);
  const json again = json::parse(info->toJson()).at("policy");
  CHECK(again.at("keep_last") == 5);
  CHECK(again.at("rules") == json::parse(text).at("policy").at("rules"));
  CHECK(again.at("policy") == "stats");
  CHECK(RunInfo::fromJson(info->toJson(), "run.json")->toJson() == info->toJson());
}
