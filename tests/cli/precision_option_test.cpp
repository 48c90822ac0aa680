// msdbg dump --precision: recorded in bfloat16 or float16, proved bit for bit, gone on with, and healthy.
#include <catch2/catch.hpp>

#include "dump/reader/run_reader.h"
#include "tests/cli/recorded_run.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;
using Catch::Contains;

Json record(const fs::path& run, const Words& more) {
  Words words = {"dump", "-o", run.string(), "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return msdbgJson(words);
}

std::string refused(const Words& words) {
  const TempDir folder;
  Words all = {"dump", "-o", (folder / "new.msdbg").string()};
  all.insert(all.end(), words.begin(), words.end());
  const RunResult result = msdbg(all);
  CHECK(result.exitStatus == 2);
  CHECK_FALSE(fs::exists(folder / "new.msdbg"));
  return result.err;
}

}  // namespace

TEST_CASE("a recording in mixed precision holds bfloat16, is proved bit for bit and healthy", "[cli]") {
  const std::vector<std::pair<std::string, Words>> trainings = {
      {"bf16", {"mlp", "-n", "2"}},
      {"fp16", {"mlp", "-n", "2"}},
      {"fp16", {"lenet5", "--batch", "8"}},
      {"bf16", {"gpt", "--layers", "1", "--width", "32", "--heads", "2", "--context", "16", "--batch", "2"}}};
  for (const auto& [precision, model] : trainings) {
    CAPTURE(precision, model.front());
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    Words words = model;
    words.insert(words.end(), {"--precision", precision, "--steps", "4"});
    record(run, words);
    CHECK(msdbgJson({"info", run.string()})["model_options"]["precision"] == precision);
    const auto reader = dump::RunReader::open(run).orThrow();
    int lower = 0;
    for (const core::TensorInfo& info : reader->graph().tensors()) {
      if (info.dtype != (precision == "bf16" ? core::DType::BFloat16 : core::DType::Float16)) continue;
      ++lower;
      CHECK(reader->tensor(core::Rank(0), core::Iteration(3), info.id).orThrow().dtype() == info.dtype);
    }
    CHECK(lower > 10);
    const Json proof = msdbgJson({"replay", run.string(), "--prove"});
    CHECK(proof["equal"] == true);
    CHECK(proof["iterations"] == "0-3");
    CHECK(proof["not_compared"].empty());
    CHECK(msdbg({"check", run.string()}).exitStatus == 0);
  }
}

TEST_CASE("what is not stored of a recording in mixed precision is computed again", "[cli]") {
  const TempDir folder;
  record(folder / "full.msdbg", {"mlp", "--precision", "bf16", "--steps", "3"});
  record(folder / "record.msdbg", {"mlp", "--precision", "bf16", "--steps", "3", "--policy", "record"});
  const auto shown = [&](const char* run) {
    return msdbgJson(
        {"show", (folder / run).string(), "--tensor", "network/fc1/Gemm-op1:0", "--iteration", "2"});
  };
  const Json full = shown("full.msdbg"), computed = shown("record.msdbg");
  CHECK(full["dtype"] == "bfloat16");
  CHECK(computed["dtype"] == "bfloat16");
  CHECK(full["statistics"] == computed["statistics"]);
}

TEST_CASE("a training in mixed precision goes on as it was, with the scale of its loss", "[cli]") {
  const TempDir folder;
  const std::string run = (folder / "first.msdbg").string();
  record(run, {"mlp", "--precision", "fp16", "--steps", "2"});
  record(folder / "whole.msdbg", {"mlp", "--precision", "fp16", "--steps", "4"});
  const Json next = record(folder / "next.msdbg", {"--resume", run, "--steps", "2"});
  CHECK(next["resume"]["iteration"] == 2);
  const auto a = dump::RunReader::open(folder / "whole.msdbg").orThrow();
  const auto b = dump::RunReader::open(folder / "next.msdbg").orThrow();
  for (const core::TensorInfo& info : b->graph().tensors())
    CHECK(a->hash(core::Rank(0), core::Iteration(3), info.id).orThrow() ==
          b->hash(core::Rank(0), core::Iteration(3), info.id).orThrow());
  CHECK(b->scalar(core::Rank(0), core::Iteration(3), "loss_scale") == 65536);
  CHECK(b->scalar(core::Rank(0), core::Iteration(3), "step_skipped") == 0);
  CHECK_THAT(refused({"--resume", run, "--precision", "fp32"}), Contains("with --precision fp16, not fp32"));
}

TEST_CASE("a precision that there is not is refused with what there is", "[cli]") {
  CHECK_THAT(refused({"mlp", "--precision", "half"}),
             Contains("--precision half: there are fp32, bf16, fp16"));
  CHECK_THAT(refused({"--precision", "bf16", "--", "true"}),
             Contains("--precision and sizes are for models"));
}

}  // namespace msdbg::test
