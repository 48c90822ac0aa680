// msdbg compile: what the passes make of a built-in model, without training it.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/engine/model_training.h"
#include "app/cli/json_output.h"
#include "app/cli/table.h"
#include "app/cli/unified_diff.h"
#include "core_engine/base/text.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/train/trainer.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct CompileOptions {
  ModelSettings model;
  PlanSettings plan;
  std::string diff;
  std::optional<std::string> backend;
  int ranks = 1;
  bool log = false;
};

/// A node that a device has no kernel for.
struct HostNode {
  std::string name, opType, why;
  bool once;
};

struct Compiled {
  core::Graph graph{"network"};
  std::size_t modelNodes = 0;
  std::vector<core::PassLog> graphPasses;
  core::Plan plan;
  core::PlanTrace planPasses;
  std::vector<HostNode> onHost;
};

/// Who computes; for kCuda a device must be there.
Result<std::unique_ptr<core::Backend>> backendOf(core::BackendKind kind) {
  if (kind == core::BackendKind::kReference) return core::makeReferenceBackend();
  if (kind == core::BackendKind::kFast) return core::makeCpuBackend();
  return core::makeDeviceBackend(kind, core::Rank(0));
}

std::vector<HostNode> nodesOnHost(core::Backend& backend, const core::Graph& graph, const core::Plan& plan) {
  std::vector<HostNode> nodes;
  if (!backend.memory()) return nodes;
  for (const core::PlanStep& step : plan.steps) {
    if (!step.shares.empty()) continue;
    const core::Node& node = graph.node(step.node);
    core::Backend::Answer answer = backend.compile(graph, node, 1);
    if (!answer.kernel)
      nodes.push_back({node.name, node.opType, std::move(answer.declined), step.how == core::How::kOnce});
  }
  return nodes;
}

Result<Compiled> compileModel(const CompileOptions& options) {
  Compiled compiled;
  const bool texts = !options.diff.empty();
  MSDBG_ASSIGN(const ModelTraining training, ModelTraining::choose(options.model, options.ranks));
  MSDBG_ASSIGN(const core::Value loss, training.build(compiled.graph));
  compiled.modelNodes = compiled.graph.nodes().size();
  const core::TensorId lossId = loss.id();
  const auto trained = core::compileTraining(compiled.graph, lossId, training.optimizer, options.ranks,
                                             &compiled.graphPasses, texts);
  if (!trained.ok()) return trained.error();
  core::PlanOptions planned;
  planned.keep = core::readAfterIteration(compiled.graph, lossId);
  MSDBG_ASSIGN(planned.choices, readChoices(options.plan));
  MSDBG_ASSIGN(const core::BackendKind kind, backendFrom(options.backend));
  MSDBG_ASSIGN(const std::unique_ptr<core::Backend> kernels, backendOf(kind));
  planned.kernels = kernels.get();
  compiled.planPasses.texts = texts;
  MSDBG_ASSIGN(compiled.plan, core::makePlan(compiled.graph, planned, &compiled.planPasses));
  compiled.onHost = nodesOnHost(*kernels, compiled.graph, compiled.plan);
  return compiled;
}

core::Status checkDiff(const std::string& wanted, const Compiled& compiled) {
  std::vector<std::string> names;
  for (const core::PassLog& pass : compiled.graphPasses) names.push_back(pass.pass);
  for (const core::PassReport& pass : compiled.planPasses.reports) names.push_back(pass.pass);
  if (std::ranges::count(names, wanted)) return core::Ok{};
  const std::string near = core::didYouMean(wanted, names);
  return Error(ErrorCode::kNotFound,
               fmt::format("--diff: there is no pass '{}'{}", wanted,
                           near.empty() ? "; there are " + core::join(names, ", ") : near));
}

std::string diffOf(const std::string& wanted, const Compiled& compiled) {
  const auto text = [&](const auto& pass) {
    return unifiedDiff(pass.before, pass.after, "before " + wanted, "after " + wanted);
  };
  for (const core::PassLog& pass : compiled.graphPasses)
    if (pass.pass == wanted) return text(pass);
  for (const core::PassReport& pass : compiled.planPasses.reports)
    if (pass.pass == wanted) return text(pass);
  return "";
}

std::string summaryOf(const core::PassReport& pass) {
  if (!pass.on) return "(off)";
  return pass.notes.summary.empty() ? "(unchanged)" : pass.notes.summary;
}

std::string timeText(double milliseconds) { return fmt::format("{:.2f} ms", milliseconds); }

void printLog(const core::PassReport& pass) {
  fmt::print("\n{}\n", pass.pass);
  for (const std::string& change : pass.notes.changes) fmt::print("  {}\n", wrapped(change, 4));
  for (const auto& [reason, count] : pass.notes.refusals) fmt::print("  not {}x: {}\n", count, reason);
  if (pass.notes.changes.empty() && pass.notes.refusals.empty()) fmt::print("  {}\n", summaryOf(pass));
}

void printHostNodes(const CompileOptions& options, const Compiled& compiled) {
  if (compiled.onHost.empty()) return;
  const auto each = std::ranges::count(compiled.onHost, false, &HostNode::once);
  fmt::print("\n{} on the host, {} of them in every iteration, between two copies\n",
             counted(static_cast<std::int64_t>(compiled.onHost.size()), "node"), each);
  if (!options.log) return;
  for (const HostNode& node : compiled.onHost)
    fmt::print("  {}{}: {}\n", node.name, node.once ? " (once)" : "", node.why);
}

void printText(const CompileOptions& options, const Compiled& compiled) {
  fmt::print("{}: {} of the model become {} of training on {}\n\n", options.model.model,
             counted(static_cast<std::int64_t>(compiled.modelNodes), "node"), compiled.graph.nodes().size(),
             counted(options.ranks, "rank"));
  Table table({"pass over the graph", ">time", "what it changed"});
  for (const core::PassLog& pass : compiled.graphPasses)
    table.row({pass.pass, timeText(pass.milliseconds), pass.changed});
  fmt::print("{}\n", table.text());
  Table plan({"pass over the plan", ">time", "what it changed"});
  for (const core::PassReport& pass : compiled.planPasses.reports)
    plan.row({pass.pass, timeText(pass.milliseconds), summaryOf(pass)});
  fmt::print("{}", plan.text());
  if (options.log)
    for (const core::PassReport& pass : compiled.planPasses.reports) printLog(pass);
  printHostNodes(options, compiled);
}

Json passJson(const core::PassReport& pass) {
  Json json = {{"name", pass.pass},
               {"over", "plan"},
               {"on", pass.on},
               {"ms", pass.milliseconds},
               {"summary", summaryOf(pass)},
               {"changes", pass.notes.changes},
               {"not_changed", Json::array()}};
  for (const auto& [reason, count] : pass.notes.refusals)
    json["not_changed"].push_back({{"reason", reason}, {"count", count}});
  return json;
}

/// How many steps the plan has of each kind.
Json stepsJson(const core::Plan& plan) {
  static constexpr std::pair<const char*, core::How> kKinds[] = {
      {"run", core::How::kRun},   {"once", core::How::kOnce}, {"watched", core::How::kWatched},
      {"view", core::How::kView}, {"same", core::How::kSame}, {"grouped", core::How::kGrouped}};
  Json json;
  for (const auto& [name, how] : kKinds)
    json[name] = std::ranges::count(plan.steps, how, &core::PlanStep::how);
  return json;
}

void printDocument(const CompileOptions& options, const Compiled& compiled) {
  Json json = document("compile");
  json["model"] = options.model.model;
  json["ranks"] = options.ranks;
  json["model_nodes"] = compiled.modelNodes;
  json["nodes"] = compiled.graph.nodes().size();
  json["passes"] = Json::array();
  for (const core::PassLog& pass : compiled.graphPasses)
    json["passes"].push_back(
        {{"name", pass.pass}, {"over", "graph"}, {"ms", pass.milliseconds}, {"summary", pass.changed}});
  for (const core::PassReport& pass : compiled.planPasses.reports) json["passes"].push_back(passJson(pass));
  json["steps"] = stepsJson(compiled.plan);
  json["host_nodes"] = Json::array();
  for (const HostNode& node : compiled.onHost)
    json["host_nodes"].push_back(
        {{"name", node.name}, {"op_type", node.opType}, {"once", node.once}, {"reason", node.why}});
  json["diff"] = textOrNull(options.diff.empty() ? "" : diffOf(options.diff, compiled));
  printJson(json);
}

Result<int> compile(const CompileOptions& options, const Context& context) {
  if (options.model.model.empty()) return Error(ErrorCode::kUsage, "compile: which model? (msdbg models)");
  MSDBG_ASSIGN(const Compiled compiled, compileModel(options));
  if (!options.diff.empty()) MSDBG_TRY(checkDiff(options.diff, compiled));
  if (context.json)
    printDocument(options, compiled);
  else if (!options.diff.empty())
    fmt::print("{}", diffOf(options.diff, compiled));
  else
    printText(options, compiled);
  return kExitFine;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompileOptions>();
  app.add_option("MODEL", options->model.model, "a built-in model (msdbg models)");
  app.add_option("-n,--ranks", options->ranks, "ranks (1)")->type_name("NPROCS")->check(CLI::Range(1, 256));
  app.add_flag("--log", options->log, "print every change, and why others were not made");
  app.add_option("--diff", options->diff, "print the text before and after a pass as a unified diff")
      ->type_name("PASS");
  addBackendOption(app, options->backend);
  options->plan.addOptions(app);
  options->model.addOptions(app);
  return [options, &context] { return compile(*options, context); };
}

}  // namespace

Command compileCommand() {
  return {.name = "compile",
          .summary = "what the passes make of a built-in model",
          .examples =
              "  msdbg compile gpt\n"
              "  msdbg compile gpt --log                  every change, and why others were not made\n"
              "  msdbg compile gpt --diff constant_folding\n"
              "  msdbg compile alexnet --passes -memory   all passes but one\n"
              "  msdbg compile gpt --recompute 'block*'   what not keeping their activations saves\n"
              "  msdbg compile gpt --backend cuda --log   what a GPU leaves to the host\n",
          .setup = setup};
}

}  // namespace msdbg::app
