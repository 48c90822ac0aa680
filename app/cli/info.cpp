// msdbg info: what a run holds and how it ended; --follow watches one that is being recorded.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/cli/command.h"
#include "app/cli/follow.h"
#include "app/cli/json_output.h"
#include "app/cli/metrics_view.h"
#include "app/cli/modules_view.h"
#include "app/cli/run_access.h"
#include "app/cli/run_size.h"
#include "app/cli/step_options.h"
#include "app/cli/table.h"
#include "app/cli/timing_text.h"
#include "core_engine/graph/roles.h"
#include "replay/describe.h"
#include "replay/loss_course.h"
#include "replay/recompute_way.h"
#include "replay/recorded_from.h"
#include "replay/run_state.h"
#include "replay/user_steps.h"

namespace msdbg::app {
namespace {

using core::Result;

struct InfoOptions {
  std::string run, tensors;
  bool follow = false, modules = false;
};

// As it can be pasted into a shell.
std::string commandText(const replay::RunDescription& run) {
  std::vector<std::string> words;
  for (const std::string& word : run.command) words.push_back(core::shellQuoted(word));
  return core::join(words, " ");
}

// What thinning left of the rank's statistics; null where nothing was thinned.
Json thinnedJson(const replay::Thinning& thinning) {
  if (thinning.parts.empty()) return nullptr;
  Json parts = Json::array();
  for (const auto& part : thinning.parts)
    parts.push_back({{"every", part.step}, {"first", part.first}, {"last", part.last}});
  return {{"whole", thinning.whole}, {"parts", parts}, {"others", thinning.others}};
}

// "whole for the newest 200 iterations, then every 10th (1000-2799), every 100th (0-999), and 3 with hits or
// outliers"
std::string thinnedText(const replay::Thinning& thinning) {
  std::string text = fmt::format("whole for the newest {}", counted(thinning.whole, "iteration"));
  for (std::size_t i = 0; i < thinning.parts.size(); ++i) {
    const auto& part = thinning.parts[i];
    text += fmt::format(", {}every {}th ({}-{})", i == 0 ? "then " : "", part.step, part.first, part.last);
  }
  if (thinning.others > 0) text += fmt::format(", and {} with hits or outliers", thinning.others);
  return text;
}

Json ranksJson(const OpenedRun& run) {
  Json list = Json::array();
  const replay::Recomputable* const states = run.run->recomputable();
  for (const core::Rank rank : run.run->ranks()) {
    const auto end = run.run->rankEnd(rank);
    const core::IterationSet& iterations = run.run->iterationSet(rank);
    const replay::UserSteps steps = replay::userSteps(*run.run, rank);
    list.push_back(
        {{"rank", rank.value},
         {"count", iterations.size()},
         {"iterations", iterations.empty() ? "none" : iterations.text()},
         {"incomplete", run.run->incompleteIterations(rank)},
         {"first_loss", iterations.empty() ? Json()
                                           : numberOrNull(replay::lossAt(
                                                 *run.run, rank, core::Iteration(iterations.front())))},
         {"last_loss", numberOrNull(replay::lastLoss(*run.run, rank))},
         {"thinned", thinnedJson(run.run->thinning(rank))},
         {"checkpoints", states ? states->checkpoints(rank) : std::vector<std::int64_t>()},
         {"batches", core::formatRanges(states ? states->batches(rank) : std::vector<std::int64_t>())},
         {"end", end ? endJson(*end) : Json()}});
    for (const replay::MeshAxis& axis : run.run->mesh(rank))
      list.back()["mesh"][axis.name] = {{"index", axis.index}, {"size", axis.size}};
    if (!steps.empty()) list.back()["steps"] = {{"first", steps.first()}, {"last", steps.last()}};
  }
  return list;
}

Json graphJson(const core::Graph& graph) {
  std::map<std::string, std::int64_t> phases;
  for (const core::Node& node : graph.nodes()) ++phases[std::string(core::phaseName(node.phase))];
  std::int64_t parameters = 0;
  for (const core::TensorInfo& tensor : graph.tensors())
    if (tensor.trainable && tensor.role == core::TensorRole::kParameter && tensor.shape.known())
      parameters += tensor.shape.elements();
  return {{"nodes", graph.nodes().size()},
          {"phases", phases},
          {"tensors", graph.tensors().size()},
          {"kernels", graph.kernels().size()},
          {"parameters", parameters}};
}

// Of how many iterations and ranks the value is stored.
std::int64_t storedCount(const OpenedRun& run, core::TensorId tensor) {
  std::int64_t count = 0;
  for (const core::Rank rank : run.run->ranks()) count += run.run->storedCount(rank, tensor);
  return count;
}

Json tensorsJson(const OpenedRun& run, const std::vector<core::TensorId>& ids) {
  Json list = Json::array();
  for (const core::TensorId id : ids) {
    const core::TensorInfo& tensor = run.graph().tensor(id);
    list.push_back({{"name", tensor.fullName()},
                    {"alias", textOrNull(tensor.alias)},
                    {"dtype", core::dtypeName(tensor.dtype)},
                    {"shape", shapeJson(tensor.shape)},
                    {"role", core::roleName(tensor.role)},
                    {"stored", storedCount(run, id)},
                    {"source", sourceJson(run.graph(), framesOf(run.graph(), id))}});
    if (!tensor.device.empty()) list.back()["device"] = tensor.device;
  }
  return list;
}

// What --on-hit said while the run was recorded.
Json hitsJson(const OpenedRun& run) {
  Json list = Json::array();
  for (const replay::RecordedHit& hit : run.run->hits()) {
    list.push_back({{"iteration", hit.iteration},
                    {"rank", hit.rank.value},
                    {"condition", hit.condition},
                    {"tensor", hit.tensor},
                    {"node", textOrNull(hit.node)},
                    {"parameter", textOrNull(hit.parameter)},
                    {"preset", number(hit.preset)},
                    {"actual", number(hit.actual)},
                    {"count", hit.count},
                    {"detail", hit.detail}});
    addStep(list.back(), run, hit.rank, core::Iteration(hit.iteration));
  }
  return list;
}

// What could not be written.
Json gapsJson(const OpenedRun& run) {
  Json list = Json::array();
  for (const replay::Gap& gap : run.run->gaps())
    list.push_back({{"rank", gap.rank.value},
                    {"iterations", gap.iterations.text()},
                    {"why", gap.why},
                    {"from", gap.from},
                    {"until", gap.until}});
  return list;
}

// Iterations of which only the later values are shown.
Json restartsJson(const OpenedRun& run) {
  Json list = Json::array();
  for (const replay::Restart& restart : run.run->restarts())
    list.push_back(
        {{"rank", restart.rank.value}, {"iteration", restart.iteration}, {"newest", restart.newest}});
  return list;
}

// As run.json and the ranks have it. Who recorded may be gone without a word.
std::string stateText(const OpenedRun& run) {
  const std::string state = run.run->end().state;
  return state == "running" && !run.run->recording() ? "interrupted" : state;
}

// Only journals are read to open a run, and they do not tell what happened to its files since. Where
// checkpoints are read in no time, whether they are whole is looked at.
replay::RecomputeWays waysOf(const OpenedRun& run) {
  constexpr std::uint64_t kFewBytes = 64u << 20;
  constexpr std::size_t kFewValues = 5'000;
  replay::RecomputeWays ways(*run.run);
  const replay::Recomputable* const states = run.run->recomputable();
  if (!states || run.run->storage().states > kFewBytes) return ways;
  std::size_t checkpoints = 0;
  for (const core::Rank rank : run.run->ranks()) checkpoints += states->checkpoints(rank).size();
  const auto carried = std::ranges::count_if(run.run->graph().tensors(), core::isCarried);
  if (checkpoints * static_cast<std::size_t>(carried) <= kFewValues) ways.readCheckpoints(*run.run);
  return ways;
}

Json damagedJson(const replay::RecomputeWays& ways) {
  Json json = Json::array();
  for (const auto& [iteration, why] : ways.damagedCheckpoints())
    json.push_back({{"iteration", iteration.value}, {"why", why}});
  return json;
}

Json infoJson(const OpenedRun& run) {
  const replay::RunDescription& info = run.run->description();
  const replay::Storage storage = run.run->storage();
  Json libraries = Json::object();
  for (const auto& [name, version] : info.libraries) libraries[name] = version;
  Json json = document("info");
  json["run"] = run.path;
  json["format"] = info.format;
  json["state"] = stateText(run);
  json["recording"] = run.run->recording();
  json["end"] = endJson(info.end);
  json["command"] = info.command;
  json["model"] = textOrNull(info.model);
  json["model_options"] = Json::object();
  for (const auto& [name, value] : info.modelOptions) json["model_options"][name] = value;
  json["version"] = info.version;
  json["host"] = info.host;
  json["started_at"] = info.startedAt;
  json["ended_at"] = textOrNull(info.endedAt);
  Json caches = Json::object();
  for (const auto& [name, bytes] : info.caches) caches[name] = bytes;
  json["cpu"] = {{"model", info.cpuModel}, {"features", info.cpuFeatures}, {"caches", caches}};
  json["libraries"] = libraries;
  json["threads"] = info.threads;
  json["backend"] = info.backend;
  if (const std::string from = replay::recordedFrom(info); !from.empty()) json["recorded_from"] = from;
  json["seed"] = info.seed;
  json["data"] = textOrNull(info.data);
  json["policy"] = info.policy.empty() ? Json() : Json::parse(info.policy, nullptr, false);
  json["faults"] = info.faults;
  json["ranks"] = ranksJson(run);
  const replay::RecomputeWays ways = waysOf(run);
  json["recomputable"] = core::formatRanges(ways.reachable());
  json["damaged_checkpoints"] = damagedJson(ways);
  const auto longest = ways.longest();
  json["longest_recomputation"] = Json();
  if (longest)
    json["longest_recomputation"] = {{"iterations", longest->iterations}, {"seconds", longest->seconds}};
  json["scalars"] = run.run->scalarNames();
  if (Json metrics = metricsJson(*run.run); !metrics.empty()) json["metrics"] = std::move(metrics);
  json["graph"] = graphJson(run.graph());
  json["storage"] = {{"raw_bytes", storage.raw},
                     {"stored_bytes", storage.stored},
                     {"file_bytes", storage.files},
                     {"state_bytes", storage.states},
                     {"batch_bytes", storage.batches},
                     {"segments", storage.segments},
                     {"folder_bytes", folderBytes(run.path)}};
  json["hits"] = hitsJson(run);
  json["gaps"] = gapsJson(run);
  json["restarts"] = restartsJson(run);
  json["timing"] = timingJson(timings(*run.run));
  json["damage"] = damageJson(run.run->damage());
  return json;
}

std::string numberText(std::optional<double> value) { return value ? core::formatShort(*value, 5) : ""; }

// " (steps 41000-41011)": the first and last of the program's own numbers.
std::string stepsText(const OpenedRun& run, core::Rank rank) {
  const replay::UserSteps steps = replay::userSteps(*run.run, rank);
  if (steps.empty()) return "";
  if (steps.first() == steps.last()) return fmt::format(" (step {})", steps.first());
  return fmt::format(" (steps {}-{})", steps.first(), steps.last());
}

void printRanks(const OpenedRun& run) {
  Table table({">rank", "iterations", ">count", ">first loss", ">last loss", "ended"});
  for (const core::Rank rank : run.run->ranks()) {
    const core::IterationSet& iterations = run.run->iterationSet(rank);
    const auto end = run.run->rankEnd(rank);
    const std::vector<std::int64_t> half = run.run->incompleteIterations(rank);
    table.row({core::printable(replay::rankText(*run.run, rank)),
               iterationsText(run, rank) + stepsText(run, rank) +
                   (half.empty() ? "" : fmt::format(" ({} incomplete)", core::formatRanges(half))),
               std::to_string(iterations.size()),
               iterations.empty()
                   ? ""
                   : numberText(replay::lossAt(*run.run, rank, core::Iteration(iterations.front()))),
               numberText(replay::lastLoss(*run.run, rank)),
               end                    ? end->state
               : run.run->recording() ? "still going"
                                      : "without a word"});
  }
  fmt::print("\n{}", table.text());
}

void printHits(const OpenedRun& run) {
  constexpr std::size_t kMost = 20;
  const std::vector<replay::RecordedHit> hits = run.run->hits();
  if (hits.empty()) return;
  Table table({">iteration", ">rank", "hit while recording", "tensor", ">actual", "detail"});
  for (std::size_t i = 0; i < std::min(hits.size(), kMost); ++i)
    table.row({replay::iterationText(*run.run, hits[i].rank, core::Iteration(hits[i].iteration)),
               std::to_string(hits[i].rank.value), hits[i].condition, hits[i].tensor,
               core::formatShort(hits[i].actual), hits[i].detail});
  fmt::print("\n{}", table.text());
  if (hits.size() > kMost)
    fmt::print("… {} more (--json lists them)\n",
               groupedNumber(static_cast<std::int64_t>(hits.size() - kMost)));
}

// " (25 iterations apart)", " (25 to 400 iterations apart)".
std::string apartText(const std::vector<std::int64_t>& checkpoints) {
  if (checkpoints.size() < 2) return "";
  std::int64_t least = INT64_MAX, most = 0;
  for (std::size_t i = 1; i < checkpoints.size(); ++i) {
    least = std::min(least, checkpoints[i] - checkpoints[i - 1]);
    most = std::max(most, checkpoints[i] - checkpoints[i - 1]);
  }
  return fmt::format(" ({}{} apart)", least < most ? groupedNumber(least) + " to " : "",
                     counted(most, "iteration"));
}

// ", which takes 25 iterations or 0.8 s at most"
std::string longestText(const replay::RecomputeWays& ways) {
  const auto longest = ways.longest();
  if (!longest) return "";
  return ", which takes " + counted(longest->iterations, "iteration") +
         (longest->seconds > 0 ? " or " + aboutSeconds(longest->seconds) : "") + " at most";
}

// "; the checkpoints of iterations 0, 24 are damaged"
std::string damagedText(const replay::RecomputeWays& ways) {
  core::IterationSet damaged;
  for (const auto& [iteration, why] : ways.damagedCheckpoints()) damaged.push_back(iteration.value);
  if (damaged.empty())
    return ways.reachable().empty() ? "" : "; msdbg verify reads whether all of these are whole";
  return fmt::format("; the checkpoint{} of {} {} damaged", damaged.size() == 1 ? "" : "s",
                     replay::numbered("iteration", damaged), damaged.size() == 1 ? "is" : "are");
}

// "iterations 25-99 can be computed again, which takes 25 iterations or 0.8 s at most, and gone on from: 3
// checkpoints (25 iterations apart), batches of 100 iterations; msdbg verify reads whether …";
// "" where neither is kept.
std::string recomputableText(const OpenedRun& run) {
  const replay::Recomputable* const states = run.run->recomputable();
  if (!states) return {};
  const core::Rank rank = run.run->ranks().empty() ? core::Rank(0) : run.run->ranks().front();
  const auto checkpoints = states->checkpoints(rank), batches = states->batches(rank);
  if (checkpoints.empty() && batches.empty()) return {};
  const replay::RecomputeWays ways = waysOf(run);
  const std::vector<std::int64_t> iterations = ways.reachable();
  return fmt::format("{}: {}{}, batches of {}{}{}",
                     iterations.empty()
                         ? "nothing can be computed again"
                         : "iterations " + core::formatRanges(iterations) + " can be computed again" +
                               longestText(ways) + ", and gone on from (--resume, msdbg::restore)",
                     counted(static_cast<std::int64_t>(checkpoints.size()), "checkpoint"),
                     apartText(checkpoints), counted(static_cast<std::int64_t>(batches.size()), "iteration"),
                     run.run->ranks().size() > 1 ? " on each rank" : "", damagedText(ways));
}

std::string graphText(const OpenedRun& run) {
  const Json graph = graphJson(run.graph());
  const Json& phases = graph["phases"];
  return fmt::format("{} ({} forward, {} backward, {} collective, {} update), {}, {} trainable numbers",
                     counted(graph["nodes"], "node"), phases.value("forward", 0), phases.value("backward", 0),
                     phases.value("collective", 0), phases.value("update", 0),
                     counted(graph["tensors"], "tensor"), groupedNumber(graph["parameters"]));
}

// One line, whatever the texts of the run hold.
void printFact(const char* label, const std::string& text) {
  fmt::print("{:<9}{}\n", label, core::printable(text));
}

// Of the first rank: all take the same steps.
void printRestarts(const OpenedRun& run) {
  const std::vector<replay::Restart> restarts = run.run->restarts();
  for (const replay::Restart& restart : restarts)
    if (restart.rank == restarts.front().rank)
      printFact("twice",
                fmt::format("training began again at iteration {} (a second Trainer, or one that was "
                            "restored): of iterations {}-{}, recorded before, the later values are "
                            "shown",
                            restart.iteration, restart.iteration, restart.newest));
}

// Once where it is the same on all ranks.
void printThinned(const OpenedRun& run) {
  std::map<std::string, std::vector<std::int64_t>> ranks;
  for (const core::Rank rank : run.run->ranks())
    if (const auto thinning = run.run->thinning(rank); !thinning.parts.empty())
      ranks[thinnedText(thinning)].push_back(rank.value);
  for (const auto& [text, those] : ranks)
    printFact("rows", fmt::format("statistics{}: {}",
                                  those.size() == run.run->ranks().size()
                                      ? ""
                                      : fmt::format(" of rank {}", core::formatRanges(those)),
                                  text));
}

// ", on cuda (NVIDIA H200, sm_90)"; nothing of the CPU.
std::string backendText(const replay::RunDescription& info) {
  if (info.backend == "cpu") return "";
  const auto device =
      std::ranges::find(info.libraries, "device", [](const auto& library) { return library.first; });
  return ", on " + info.backend + (device == info.libraries.end() ? "" : " (" + device->second + ")");
}

void printInfo(const OpenedRun& run) {
  const replay::RunDescription& info = run.run->description();
  const auto storage = run.run->storage();
  printFact("run", fmt::format("{}   {}", run.path, endText(run)));
  printFact("command", commandText(info));
  printFact("where", fmt::format("{}, {}, {} x {}{}, started {}", info.host, info.cpuModel,
                                 counted(info.ranks, "rank"), counted(info.threads, "thread"),
                                 backendText(info), info.startedAt));
  const std::string from = replay::recordedFrom(info);
  if (!from.empty()) printFact("from", "recorded from " + from);
  printFact("training",
            fmt::format("seed {}{}{}", info.seed, info.data.empty() ? "" : ", data " + info.data,
                        info.faults.empty() ? "" : ", planted faults: " + core::join(info.faults, "; ")));
  printFact("recorded", info.policyText);
  printFact("graph", graphText(run));
  printFact("size", fmt::format("{} in {}; tensors {} stored as {}", core::formatBytes(storage.files),
                                counted(storage.segments, "segment"), core::formatBytes(storage.raw),
                                core::formatBytes(storage.stored)));
  if (const std::string over = overBudgetText(folderBytes(run.path), info.maxBytes); !over.empty())
    printFact("", over);
  if (const std::string line = timingLine(timings(*run.run)); !line.empty()) printFact("time", line);
  if (!from.empty())
    printFact("replay",
              "what PyTorch computed cannot be computed again here: what is not stored is not there");
  else if (const std::string text = recomputableText(run); !text.empty())
    printFact("replay", text);
  for (const replay::Gap& gap : run.run->gaps()) printFact("missing", replay::gapText(gap));
  printRestarts(run);
  printThinned(run);
  printRanks(run);
  if (const std::string metrics = metricsText(*run.run); !metrics.empty()) fmt::print("\n{}", metrics);
  printHits(run);
}

void printTensors(const OpenedRun& run, const std::vector<core::TensorId>& ids) {
  Table table({"tensor", "type", "role", ">stored", "line"});
  for (const core::TensorId id : ids) {
    const core::TensorInfo& tensor = run.graph().tensor(id);
    table.row({tensor.alias.empty() ? tensorName(tensor) : tensor.alias, typeText(tensor),
               std::string(core::roleName(tensor.role)), std::to_string(storedCount(run, id)),
               placeOf(run.graph().userFrame(framesOf(run.graph(), id)))});
  }
  fmt::print("\n{}stored: in how many iterations of all ranks the values themselves are kept\n",
             table.text());
}

Result<int> info(const InfoOptions& options, const Context& context) {
  if (options.follow) return followRun(options.run, context);
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  std::vector<core::TensorId> tensors;
  if (!options.tensors.empty()) {
    MSDBG_ASSIGN(tensors, replay::resolveTensors(run.graph(), options.tensors));
  }
  if (context.json) {
    Json json = infoJson(run);
    if (!options.tensors.empty()) json["tensors"] = tensorsJson(run, tensors);
    if (options.modules) json["modules"] = modulesJson(run.graph());
    printJson(json);
  } else {
    printInfo(run);
    if (!options.tensors.empty()) printTensors(run, tensors);
    if (options.modules) fmt::print("\n{}", modulesText(run.graph()));
  }
  return withDamage(run, kExitFine);
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<InfoOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--tensors", options->tensors, "list these tensors (name or glob)")->type_name("GLOB");
  app.add_flag("--modules", options->modules, "list the modules of the network and their parameters");
  app.add_flag("--follow", options->follow, "print iterations as they are recorded, until recording ends");
  return [options, &context] { return info(*options, context); };
}

}  // namespace

Command infoCommand() {
  return {.name = "info",
          .summary = "ranks, iterations, tensors, sizes, how the run ended",
          .examples =
              "  msdbg info\n"
              "  msdbg info alexnet-1.msdbg --tensors '*conv3*'\n"
              "  msdbg info --modules\n"
              "  msdbg info --follow                      while it is being recorded\n",
          .setup = setup};
}

}  // namespace msdbg::app
