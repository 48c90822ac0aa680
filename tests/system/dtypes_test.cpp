// What the commands say of a run with every dtype, and of one that this msdbg does not know.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using Catch::Matchers::Contains;
using Json = nlohmann::json;

namespace {

struct EveryDType {
  test::TempDir folder;
  std::string run = folder / "every.msdbg";
  EveryDType() { test::record(run, test::everyDTypeGraph(), {}, {.iterations = 2}); }
};

Json json(const test::RunResult& result) {
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  return Json::parse(result.out);
}

}  // namespace

TEST_CASE("show, stats, info, check and verify take tensors of every dtype") {
  const EveryDType r;
  const core::Graph graph = test::everyDTypeGraph();
  for (const core::DType dtype : core::kDTypes) {
    const std::string name = "network/" + std::string(core::dtypeName(dtype));
    CAPTURE(name);
    const core::Tensor fed = test::valueOf(graph.tensor(test::tensorNamed(graph, name)), 1);
    const Json shown = json(test::runMsdbg({"show", r.run, "--tensor", name, "--json"}));
    CHECK(shown["dtype"] == core::dtypeName(dtype));
    CHECK(shown["statistics"]["count"] == 15);
    for (std::int64_t i = 0; i < 15; ++i) {
      const Json& value = shown["values"][static_cast<std::size_t>(i / 5)][static_cast<std::size_t>(i % 5)];
      if (core::isComplex(dtype))
        CHECK(value["imag"].get<double>() == fed.complexAt(i).imag);
      else
        CHECK((value.is_boolean() ? value.get<bool>() : value.get<double>()) == fed.at(i));
    }
    CHECK(test::runMsdbg({"show", r.run, "--tensor", name, "--slice", "0"}).exitStatus == 0);
    const Json stats = json(test::runMsdbg({"stats", r.run, "--tensor", name, "--json"}));
    CHECK(stats["tensors"][0]["dtype"] == core::dtypeName(dtype));
  }
  CHECK(test::runMsdbg({"verify", r.run}).exitStatus == 0);
  CHECK(test::runMsdbg({"check", r.run}).exitStatus == 0);
  CHECK_THAT(test::runMsdbg({"info", r.run, "--tensors", "*"}).out,
             Contains("float8_e4m3fn") && Contains("complex64"));
}

TEST_CASE("show --npy says where the file has another dtype than the run") {
  const EveryDType r;
  const std::string file = r.folder / "t.npy";
  const auto plain = test::runMsdbg({"show", r.run, "--tensor", "network/bfloat16", "--npy", file});
  CHECK_THAT(plain.out, Contains("written to " + file + " as float32: NumPy has no bfloat16"));
  const Json told =
      json(test::runMsdbg({"show", r.run, "--tensor", "network/float16", "--npy", file, "--json"}));
  CHECK(told["npy_dtype"] == "float16");
}

TEST_CASE(
    "A dtype of a later msdbg: its statistics are shown, its value is refused with the way out, nothing is "
    "damaged") {
  const EveryDType r;
  test::makeDTypeUnknown(r.run, "network/float8_e5m2", 99);
  const auto shown = test::runMsdbg({"show", r.run, "--tensor", "network/float8_e5m2"});
  CHECK(shown.exitStatus == 1);
  CHECK_THAT(shown.out, Contains("unsupported [3, 5]") && Contains("mean"));
  CHECK_THAT(shown.err, Contains("number 99") && Contains("update msdbg"));
  CHECK(test::runMsdbg({"stats", r.run, "--tensor", "network/float8_e5m2"}).exitStatus == 0);
  CHECK(test::runMsdbg({"show", r.run, "--tensor", "network/float16"}).exitStatus == 0);
  CHECK(test::runMsdbg({"verify", r.run}).exitStatus == 0);
  CHECK(test::runMsdbg({"check", r.run}).exitStatus == 0);
  CHECK(test::runMsdbg({"info", r.run}).exitStatus == 0);
}
