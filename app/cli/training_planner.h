// What `msdbg dump` asks of the engine while it plans: everything about a built-in model, and what of a
// program on the engine only the engine knows. Main thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/backend_kind.h"
#include "core_engine/base/ids.h"

namespace msdbg::app {

struct Context;
struct DumpOptions;
struct DumpPlan;
struct ResumePoint;

/// For one plan: the calls come in this order.
class TrainingPlanner {
 public:
  virtual ~TrainingPlanner() = default;

  /// Finds the model (also one that was taken for one of --tensors) and the run to go on from; what is not
  /// given becomes what that run was trained with. nullopt: nothing is gone on from.
  virtual core::Result<std::optional<ResumePoint>> begin(DumpOptions& options, const Context& context) = 0;
  /// Backend (`own`: what the program's arguments say), passes, what is computed again instead of kept.
  virtual core::Status choose(const DumpOptions& options, std::optional<core::BackendKind> own,
                              DumpPlan& plan) = 0;
  /// --fault, of a program too.
  virtual core::Status readFaults(const DumpOptions& options, const DumpPlan& plan) = 0;
  /// The program that trains the model, and what recording it takes.
  virtual core::Status planModel(const DumpOptions& options, DumpPlan& plan) = 0;

  // --- of a plan that is made ---
  using Libraries = std::vector<std::pair<std::string, std::string>>;
  /// What decides bits here, for run.json (name, version): on the CPU, and what the plan's device adds.
  virtual Libraries libraries() const = 0;
  virtual Libraries deviceLibraries(const DumpPlan& plan) const = 0;
  /// Of faults that did nothing in a training that ended after so many iterations: why.
  virtual std::vector<std::string> idleFaults(const DumpPlan& plan, std::int64_t iterations) const = 0;
};

}  // namespace msdbg::app
