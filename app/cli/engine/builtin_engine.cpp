#include "app/cli/engine/builtin_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "app/cli/engine/engine_commands.h"
#include "app/cli/engine/model_planner.h"
#include "core_engine/base/text.h"
#include "core_engine/runtime/backend.h"
#include "replay/recompute/compare_computed.h"
#include "replay/recompute/elements.h"
#include "replay/recompute/environment.h"
#include "replay/recompute/hindsight.h"
#include "replay/recompute/recheck.h"

namespace msdbg::app {

using core::Result;

namespace {

#ifdef MSDBG_WITH_MPI
constexpr const char* kMpi = "built in";
#else
constexpr const char* kMpi = "not built in (install libopenmpi-dev and openmpi-bin, then build again)";
#endif

// "NVIDIA H200, sm_90 (driver 13.0, …)", or why there is none.
std::string cudaText() {
  const auto device = core::deviceLibraries(core::BackendKind::kCuda, core::Rank(0));
  if (!device.ok()) return device.error().message();
  std::vector<std::string> rest;
  for (const auto& [name, version] : *device)
    if (name != "device") rest.push_back(name + " " + version);
  return device->front().second + " (" + core::join(rest, ", ") + ")";
}

// Each question about a run first keeps this process to the instruction set that the run was recorded with.
class BuiltinEngine : public Engine {
 public:
  Command command(std::string_view name) const override {
    for (const CommandFactory make : engineCommands())
      if (const Command command = make(); command.name == name) return command;
    assert(false && "a row of builtin_commands.cpp names no command of engine_commands.cpp");
    return {};
  }

  std::string versionText() const override {
    const core::CpuInfo cpu = core::cpuInfo();
    return fmt::format(
        "CPU:  built in (oneDNN {}, {})\n"
        "MPI:  {}\n"
        "CUDA: {}\n",
        cpu.dnnlVersion, cpu.dnnlIsa, kMpi, cudaText());
  }

  std::string_view firstCommand() const override {
    return "msdbg dump alexnet -n 2 --steps 12 --fault 'nan@iteration=7,rank=1'";
  }

  Result<std::unique_ptr<replay::ComputedValues>> values(replay::Run& run, core::CancelToken cancel,
                                                         Progress progress) const override {
    replay::matchInstructionSet(run.description());
    MSDBG_ASSIGN(
        std::unique_ptr<replay::ComputedValues> made,
        replay::Hindsight::create(run, {.cancel = std::move(cancel), .progress = std::move(progress)}));
    return made;
  }

  Result<std::unique_ptr<replay::ElementComputer>> elements(replay::Run& run,
                                                            core::CancelToken cancel) const override {
    replay::matchInstructionSet(run.description());
    return replay::makeElementComputer(run, std::move(cancel));
  }

  Result<std::unique_ptr<replay::Rechecks>> rechecks(replay::Run& run,
                                                     core::CancelToken cancel) const override {
    replay::matchInstructionSet(run.description());
    MSDBG_ASSIGN(std::unique_ptr<replay::Rechecks> made, replay::Recheck::create(run, std::move(cancel)));
    return made;
  }

  Result<replay::Comparison> compareComputed(replay::Run& run, const core::IterationSet& iterations,
                                             const replay::ComparisonOptions& options) const override {
    replay::matchInstructionSet(run.description());
    return replay::compareComputed(run, iterations, options);
  }

  std::unique_ptr<TrainingPlanner> planner() const override { return std::make_unique<ModelPlanner>(); }
};

}  // namespace

const Engine& builtinEngine() {
  static const BuiltinEngine kEngine;
  return kEngine;
}

}  // namespace msdbg::app
