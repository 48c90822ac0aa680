#include "replay/npy.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core_engine/tensor/npy.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using core::DType;
using core::Tensor;

namespace {

bool isNumPys(DType dtype) {
  return dtype != DType::BFloat16 && !core::dtypeName(dtype).starts_with("float8");
}

Tensor numbers(DType dtype) {
  const double values[] = {0, 1, 1.5, 100, 0, 1};
  return Tensor::of<double>({2, 3}, values).cast(dtype);
}

}  // namespace

TEST_CASE(
    "A tensor is written as its dtype, or as float32 where NumPy has none of this name, and that is said") {
  const test::TempDir folder;
  for (const DType dtype : core::kDTypes) {
    CAPTURE(core::dtypeName(dtype));
    const Tensor tensor = numbers(dtype);
    REQUIRE(replay::writeNpy(folder / "t.npy", tensor).ok());
    const Tensor read = core::readNpy(folder / "t.npy").orThrow();
    CHECK(read.dtype() == (isNumPys(dtype) ? dtype : DType::Float32));
    CHECK(read.dtype() == replay::npyDType(dtype));
    CHECK(read.shape() == tensor.shape());
    for (std::int64_t i = 0; i < 6; ++i) CHECK(read.at(i) == tensor.at(i));
    CHECK(replay::npyNote(dtype).empty() == isNumPys(dtype));
  }
  CHECK(replay::npyNote(DType::BFloat16) == " as float32: NumPy has no bfloat16");
}

TEST_CASE("NumPy itself loads what was written of every dtype") {
  if (test::runCommand({"/usr/bin/python3", "-c", "import numpy"}).exitStatus != 0) {
    WARN("skipped: python3-numpy is not installed");
    return;
  }
  const test::TempDir folder;
  std::vector<std::string> command = {"/usr/bin/python3", "-c", R"(
import sys, json, numpy
for file in sys.argv[1:]:
    a = numpy.load(file)
    print(json.dumps([str(a.dtype), list(a.shape), [float(x) for x in numpy.abs(a).ravel()]]))
)"};
  for (const DType dtype : core::kDTypes) {
    command.push_back(folder / (std::string(core::dtypeName(dtype)) + ".npy"));
    REQUIRE(replay::writeNpy(command.back(), numbers(dtype)).ok());
  }
  const test::RunResult result = test::runCommand(command);
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  std::istringstream lines(result.out);
  for (const DType dtype : core::kDTypes) {
    std::string line;
    std::getline(lines, line);
    const auto json = nlohmann::json::parse(line);
    CHECK(json[0] == core::dtypeName(replay::npyDType(dtype)));
    CHECK(json[1] == std::vector<int>{2, 3});
    for (std::int64_t i = 0; i < 6; ++i)
      CHECK(json[2][static_cast<std::size_t>(i)].get<double>() == numbers(dtype).at(i));
  }
}
