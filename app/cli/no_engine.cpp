// The Engine of a program that has none. What the engine could not do either (a run of another framework, or
// one without checkpoints) is answered as the engine would.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/dump_plan.h"
#include "app/cli/engine.h"
#include "core_engine/base/machine.h"
#include "replay/diff/compare.h"
#include "replay/recompute_way.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TensorId;

namespace {

Error whyNotComputed(const replay::RecomputeWays& ways, Iteration iteration) {
  const auto way = ways.to(iteration);
  return way.ok() ? needsEngine("computing again what is not stored") : way.error();
}

bool couldBeComputed(replay::Run& run) { return replay::RecomputeWays(run).longest().has_value(); }

// Of runs that nobody can compute again.
class NoValues : public replay::ComputedValues {
 public:
  explicit NoValues(replay::Run& run) : m_ways(run) {}
  Result<Cost> cost(Iteration iteration) override { return whyNotComputed(m_ways, iteration); }
  Result<Computed> compute(Rank, Iteration iteration, TensorId) override {
    return whyNotComputed(m_ways, iteration);
  }
  Result<core::Tensor> value(Rank, Iteration iteration, TensorId) override {
    return whyNotComputed(m_ways, iteration);
  }
  const watch::StatisticsRow* statistics(Rank, Iteration iteration, TensorId) override {
    m_failure = whyNotComputed(m_ways, iteration);
    return nullptr;
  }
  void forEachProven(Iteration, const Proven&) const override {}
  const std::optional<Error>& failure() const override { return m_failure; }
  std::vector<replay::Mismatch> differences() const override { return {}; }
  std::vector<std::string> otherHere() const override { return {}; }

 private:
  replay::RecomputeWays m_ways;
  std::optional<Error> m_failure;
};

class NoElements : public replay::ElementComputer {
 public:
  explicit NoElements(replay::Run& run) : m_ways(run) {}
  Result<replay::ComputedElements> compute(Iteration iteration, const std::vector<TensorId>&,
                                           std::int64_t) override {
    return whyNotComputed(m_ways, iteration);
  }
  std::vector<std::string> otherHere() const override { return {}; }

 private:
  replay::RecomputeWays m_ways;
};

// Of runs whose operators the engine does not know.
class NoRechecks : public replay::Rechecks {
 public:
  explicit NoRechecks(replay::Run& run) : m_ways(run) {}
  Result<watch::Source::Recheck> recheck(Rank, Iteration iteration) override {
    return whyNotComputed(m_ways, iteration);
  }

 private:
  replay::RecomputeWays m_ways;
};

// A program behind `--` is planned as far as that goes without the engine: its Session checks the rest.
class NoPlanner : public TrainingPlanner {
 public:
  Result<std::optional<ResumePoint>> begin(DumpOptions& options, const Context& context) override {
    m_startsPython = !context.program.empty() && startsPython(context.program);
    if (!context.program.empty() || !options.like.empty()) return std::optional<ResumePoint>();
    const std::string& model = options.model.model;
    if (model.empty() && options.resume.empty())
      return Error(ErrorCode::kUsage,
                   "dump: what is to be recorded? give a program: msdbg dump -- python train.py");
    return needsEngine(options.resume.empty() ? fmt::format("dump {}: training a built-in model", model)
                                              : "--resume: training a built-in model");
  }
  Status choose(const DumpOptions& options, std::optional<core::BackendKind> own, DumpPlan& plan) override {
    plan.backend = own.value_or(core::BackendKind::kFast);
    if (!own && options.backend) {
      MSDBG_ASSIGN(plan.backend, core::backendNamed(*options.backend));
    }
    plan.passes = options.plan.passes;
    plan.recompute = options.plan.recompute;
    return Ok{};
  }
  Status readFaults(const DumpOptions& options, const DumpPlan&) override {
    if (options.faults.empty() || m_startsPython) return Ok{};  // of Python the plan says what is wrong
    return needsEngine("--fault: planting one");
  }
  Status planModel(const DumpOptions&, DumpPlan&) override { return needsEngine("a built-in model"); }
  Libraries libraries() const override { return {{"libc", core::machineInfo().libc}}; }
  Libraries deviceLibraries(const DumpPlan&) const override { return {}; }
  std::vector<std::string> idleFaults(const DumpPlan&, std::int64_t) const override { return {}; }

 private:
  bool m_startsPython = false;
};

class NoEngine : public Engine {
 public:
  Command command(std::string_view name) const override {
    Command command;
    command.name = name;
    command.summary = "needs msdbg's engine (see msdbg --version)";
    return command;
  }
  std::string versionText() const override {
    return "engine: not built in: this msdbg (pip's) records and reads; it trains no models and computes "
           "nothing\n"
           "        again. The msdbg that is built from its sources (./dev build) does\n";
  }
  std::string_view firstCommand() const override { return "msdbg dump -- python train.py"; }

  Result<std::unique_ptr<replay::ComputedValues>> values(replay::Run& run, core::CancelToken,
                                                         Progress) const override {
    if (couldBeComputed(run)) return needsEngine("computing again what is not stored");
    return std::unique_ptr<replay::ComputedValues>(std::make_unique<NoValues>(run));
  }
  Result<std::unique_ptr<replay::ElementComputer>> elements(replay::Run& run,
                                                            core::CancelToken) const override {
    return std::unique_ptr<replay::ElementComputer>(std::make_unique<NoElements>(run));
  }
  Result<std::unique_ptr<replay::Rechecks>> rechecks(replay::Run& run, core::CancelToken) const override {
    if (std::ranges::all_of(run.graph().nodes(), &core::Node::isOwn))
      return needsEngine("kernel_mismatch: computing nodes again");
    return std::unique_ptr<replay::Rechecks>(std::make_unique<NoRechecks>(run));
  }
  Result<replay::Comparison> compareComputed(replay::Run& run, const core::IterationSet& iterations,
                                             const replay::ComparisonOptions&) const override {
    if (iterations.empty() || couldBeComputed(run)) return needsEngine("--recomputed");
    return whyNotComputed(replay::RecomputeWays(run), Iteration(iterations.front()));
  }
  std::unique_ptr<TrainingPlanner> planner() const override { return std::make_unique<NoPlanner>(); }
};

}  // namespace

Error needsEngine(std::string_view what) {
  return {ErrorCode::kUnsupported,
          fmt::format("{} needs msdbg's engine, which this msdbg (pip's) is without: it records and reads; "
                      "build msdbg from its sources (./dev build), and use that one on the same run",
                      what)};
}

const Engine& noEngine() {
  static const NoEngine kEngine;
  return kEngine;
}

}  // namespace msdbg::app
