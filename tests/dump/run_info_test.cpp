#include "dump/run_info.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

RunInfo sampleInfo() {
  RunInfo info;
  info.version = "0.1.0";
  info.command = {"msdbg", "dump", "alexnet", "--fault", "nan@5"};
  info.model = "alexnet";
  info.modelOptions = {{"batch", "64"}, {"lr", "0.01"}};
  info.libraries = {{"dnnl", "2.6.3 avx512_core"}, {"hdf5", "1.10.8"}};
  info.cpuFeatures = {"avx2", "fma"};
  info.ranks = 2;
  info.seed = 18446744073709551615ull;
  info.policy.policy = Policy::kStats;
  info.policy.tensors = {"*weight*"};
  info.policy.iterations = *core::IndexList::parse("0,2-4,100-");
  info.faults = {"nan@5"};
  info.end.state = "killed";
  info.end.signal = 9;
  info.end.rank = 1;
  return info;
}

}  // namespace

TEST_CASE("run.json is read back as it was written, and is plain JSON") {
  const test::TempDir folder;
  REQUIRE(writeRunInfo(folder.path(), sampleInfo()).ok());
  const auto info = readRunInfo(folder.path());
  REQUIRE(info.ok());
  CHECK(info->toJson() == sampleInfo().toJson());
  CHECK(info->seed == 18446744073709551615ull);
  CHECK(info->policy.iterations.text() == "0,2-4,100-");
  const auto json = nlohmann::json::parse(test::readText(folder / "run.json"));
  CHECK(json.at("end").at("signal") == 9);
  CHECK(json.at("model_options").at("batch") == "64");
  CHECK(json.at("end").at("exit_status").is_null());
  CHECK(json.at("policy").at("policy") == "stats");
  CHECK(verifyRunInfo(folder.path()).ok());
}

TEST_CASE("Keys of a newer minor version are kept when run.json is rewritten") {
  const test::TempDir folder;
  auto json = nlohmann::json::parse(sampleInfo().toJson());
  json["format"] = {1, 7};
  json["gpu"] = {{"name", "H200"}};
  test::writeText(folder / "run.json", json.dump());
  auto info = readRunInfo(folder.path());
  REQUIRE(info.ok());
  CHECK(info->formatMinor == 7);
  info->end.state = "finished";
  REQUIRE(writeRunInfo(folder.path(), *info).ok());
  const auto again = nlohmann::json::parse(test::readText(folder / "run.json"));
  CHECK(again.at("gpu").at("name") == "H200");
  CHECK(again.at("end").at("state") == "finished");
}

TEST_CASE("The end of a run is not for the run.json of another one") {
  const test::TempDir folder;
  RunInfo info = sampleInfo();
  info.id = "0123";
  REQUIRE(writeRunInfo(folder.path(), info).ok());
  REQUIRE(readRunInfoToEnd(folder.path(), "0123").ok());
  CHECK(readRunInfoToEnd(folder.path(), "0123")->toJson() == info.toJson());
  const auto other = readRunInfoToEnd(folder.path(), "4567");
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().code() == core::ErrorCode::kMissing);
  CHECK_THAT(other.error().message(),
             Catch::Contains(folder.path().string() + " is another run now") && Catch::Contains("not noted"));
}

TEST_CASE("A newer major version is refused with the reason; anything else that is wrong is damage") {
  const auto code = [](const std::string& text) {
    return RunInfo::fromJson(text, "run.json").error().code();
  };
  CHECK(code(R"({"format":[2,0]})") == core::ErrorCode::kUnsupported);
  CHECK_THAT(RunInfo::fromJson(R"({"format":[2,3]})", "x").error().message(),
             Catch::Contains("2.3 is newer"));
  for (const std::string text : {"", "{", "[]", "{}", R"({"format":[]})", R"({"format":[1,0],"ranks":0})",
                                 R"({"format":[1,0],"ranks":2000000000})", R"({"format":[1,0],"seed":"x"})",
                                 R"({"format":[1,0],"policy":{"policy":"everything"}})", "\xff\xfe"}) {
    CAPTURE(text);
    CHECK(code(text) == core::ErrorCode::kDamaged);
  }
}

TEST_CASE("A changed bit anywhere in run.json is found by its own check") {
  const test::TempDir folder;
  const std::string text = sampleInfo().toJson();
  for (std::size_t bit = 0; bit < text.size() * 8; bit += 13) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    test::writeText(folder / "run.json", changed);
    CHECK_FALSE(verifyRunInfo(folder.path()).ok());
  }
}

TEST_CASE("Recording options travel as JSON, and mistakes in them are usage errors") {
  RecordOptions options;
  options.tensors = {"a", "b*"};
  options.every = 10;
  options.maxBytes = 1;
  const auto back = RecordOptions::fromJson(options.toJson());
  REQUIRE(back.ok());
  CHECK(back->toJson() == options.toJson());
  CHECK(RecordOptions::fromJson("{\"policy\":3}").error().code() == core::ErrorCode::kUsage);
}
