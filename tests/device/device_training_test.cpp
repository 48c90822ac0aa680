// Training on the emulated device: every tensor that an observer sees has the bits of the CPU's run.
#include <bit>
#include <catch2/catch.hpp>

#include "core_engine/models/model.h"
#include "tests/device/device_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

/// A NaN is itself.
std::vector<std::uint64_t> bitsOf(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

void compare(Training training) {
  INFO(training.model << " " << training.fault << " " << training.passes);
  training.backend = BackendKind::kFast;
  const TrainedModel cpu = train(training);
  training.backend = BackendKind::kEmulated;
  const TrainedModel emulated = train(training);
  CHECK((emulated.seen == cpu.seen));
  for (std::size_t i = 0; i < std::min(cpu.seen.size(), emulated.seen.size()); ++i)
    if (cpu.seen[i] != emulated.seen[i]) {
      FAIL_CHECK("cpu " << cpu.seen[i] << "\nemulated " << emulated.seen[i]);
      break;
    }
  CHECK((bitsOf(emulated.losses) == bitsOf(cpu.losses)));
  CHECK(emulated.kernels.contains("emulated"));
  // Products and convolutions are the CPU's; so is what is computed once.
  for (const std::string& name : emulated.everyTime)
    CHECK((name.starts_with("emulated:") || name.starts_with("dnnl:") || name.starts_with("group:") ||
           name.starts_with("view:")));
}

}  // namespace

TEST_CASE("Three iterations on the emulated device have the CPU's bits") {
  for (const char* model : {"mlp", "lenet5"}) compare({model});
}

TEST_CASE("Three iterations of every model on the emulated device have the CPU's bits", "[slow]") {
  for (const ModelInfo& model : builtinModels()) compare({std::string(model.name)});
}

TEST_CASE("Nobody who observes changes a bit on a device") {
  TrainedModel watched = train({"lenet5", BackendKind::kEmulated, 4});
  const TrainedModel alone = train({"lenet5", BackendKind::kEmulated, 4, false});
  CHECK((alone.losses == watched.losses));
  const SeenTensors carried(watched.seen.end() - static_cast<std::ptrdiff_t>(alone.seen.size()),
                            watched.seen.end());
  CHECK((alone.seen == carried));
}

TEST_CASE("Planted faults and every pass do on a device what they do on the CPU") {
  for (const char* fault : {"nan@iteration=1,node=*Flatten*", "bitflip@iteration=1,bit=22",
                            "zero_grad@iteration=1", "lr@iteration=1,scale=100"})
    compare({.model = "lenet5", .fault = fault});
  for (const char* passes : {"none", "-in_place", "-memory", "memory"})
    compare({.model = "lenet5", .passes = passes});
}

TEST_CASE("What a device does as one when nobody looks on has the CPU's bits", "[slow]") {
  for (const ModelInfo& model : builtinModels()) {
    INFO(model.name);
    Training training{.model = std::string(model.name), .iterations = 6, .observed = false};
    const TrainedModel cpu = train(training);
    training.backend = BackendKind::kEmulated;
    const TrainedModel emulated = train(training);
    CHECK((emulated.seen == cpu.seen));
    CHECK((bitsOf(emulated.losses) == bitsOf(cpu.losses)));
  }
}
