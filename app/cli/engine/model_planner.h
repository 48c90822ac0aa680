// What `msdbg dump` plans of a built-in model, and of what only the engine knows of a program. Main thread
// only.
#pragma once

#include "app/cli/dump_plan.h"
#include "app/cli/engine/model_training.h"
#include "app/cli/engine/resume.h"
#include "core_engine/runtime/fault.h"

namespace msdbg::app {

class ModelPlanner : public TrainingPlanner {
 public:
  core::Result<std::optional<ResumePoint>> begin(DumpOptions& options, const Context& context) override;
  /// kUsage, kUnsupported: as backendFrom() and readChoices().
  core::Status choose(const DumpOptions& options, std::optional<core::BackendKind> own,
                      DumpPlan& plan) override;
  core::Status readFaults(const DumpOptions& options, const DumpPlan& plan) override;
  core::Status planModel(const DumpOptions& options, DumpPlan& plan) override;
  Libraries libraries() const override;
  Libraries deviceLibraries(const DumpPlan& plan) const override;
  std::vector<std::string> idleFaults(const DumpPlan& plan, std::int64_t iterations) const override;

 private:
  std::optional<Resumed> m_resumed;
  std::vector<core::FaultSpec> m_faults;
};

}  // namespace msdbg::app
