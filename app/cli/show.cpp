// msdbg show: one tensor of one iteration and rank: type, statistics, hash, values.
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "app/cli/command.h"
#include "app/cli/computing.h"
#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "app/cli/statistics_text.h"
#include "app/cli/step_options.h"
#include "app/cli/table.h"
#include "app/cli/tensor_text.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/graph_union.h"
#include "replay/nearest_value.h"
#include "replay/npy.h"
#include "replay/run_state.h"
#include "replay/slice.h"
#include "replay/user_steps.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Tensor;

constexpr std::int64_t kMostJsonValues = 1 << 20;

struct ShowOptions {
  std::string run, tensor, slice, npy, bytes;
  std::optional<std::int64_t> iteration, step, rank;
  bool storedOnly = false;
};

// What was asked for, found in the run.
struct Shown {
  core::Rank rank;
  core::Iteration iteration;
  core::TensorId id;
  std::optional<watch::StatisticsRow> statistics;  // recorded, else of the value
  std::optional<core::Hash128> hash;               // recorded
  std::optional<replay::ValueOrigin> origin;
  std::optional<replay::ComputedValues::Computed> computed;  // where it is not stored
  std::vector<std::string> otherHere;                        // ComputedValues::otherHere() then
  std::optional<Tensor> value;                               // sliced
  std::optional<Error> missing;
};

// The newest iteration whose value is recorded, else the newest one.
Result<core::Iteration> defaultIteration(const OpenedRun& run, core::Rank rank, core::TensorId tensor) {
  const auto iterations = run.run->iterations(rank);
  if (iterations.empty())
    return Error(ErrorCode::kUnavailable,
                 fmt::format("no iteration of rank {} is recorded in {}", rank.value, run.path));
  for (auto it = iterations.rbegin(); it != iterations.rend(); ++it)
    if (run.run->origin(rank, *it, tensor)) return *it;
  return iterations.back();
}

// Why there is no value, and where the nearest one is.
Error withNearest(const OpenedRun& run, const Shown& shown, const Error& missing) {
  if (missing.code() != ErrorCode::kUnavailable && missing.code() != ErrorCode::kDamaged) return missing;
  const auto found = replay::nearestReadableValue(*run.run, shown.rank, shown.iteration, shown.id);
  if (!found) return missing;
  return {missing.code(),
          fmt::format("{}; the nearest value is that of --iteration {}", missing.message(), found->value)};
}

// What a run tells of a tensor whatever its rule.
void describe(const OpenedRun& run, Shown& shown) {
  if (const watch::StatisticsRow* row = run.run->flags(shown.rank, shown.iteration, shown.id))
    shown.statistics = *row;
  if (const auto hash = run.run->hash(shown.rank, shown.iteration, shown.id); hash.ok()) shown.hash = *hash;
  shown.origin = run.run->origin(shown.rank, shown.iteration, shown.id);
}

// A slice that cannot be cut is refused before anything is computed for it.
core::Status checkSlice(const OpenedRun& run, const ShowOptions& options, const Shown& shown) {
  replay::Recomputable* const source = run.run->recomputable();
  if (options.slice.empty() || !source) return core::Ok{};
  const auto graph = source->recordedGraph(shown.rank, shown.iteration);
  const auto id = graph.ok() ? graph->findTensor(run.graph().tensor(shown.id).fullName()) : std::nullopt;
  if (!id || !graph->tensor(*id).shape.known()) return core::Ok{};  // what is computed has a shape
  const core::Status fits = replay::checkSlice(graph->tensor(*id).shape, options.slice);
  return fits.ok() ? fits : core::Status(fits.error().in("--slice"));
}

// Why there is no value, where computing it again did not help either.
Error neither(const OpenedRun& run, const Shown& shown, const Error& missing, const Error& computing) {
  if (computing.code() == ErrorCode::kCancelled) return cancelledError();
  const core::GraphPart* part = run.run->part(shown.rank, shown.iteration);
  if (computing.code() == ErrorCode::kNotFound || (part && !part->has(shown.id)))
    return missing;  // the rank does not compute it: the same
  if (computing.code() == ErrorCode::kDamaged && missing.code() == ErrorCode::kDamaged)
    return {missing.code(), missing.message() + "; no checkpoint that it could be computed from can be read"};
  if (computing.code() == ErrorCode::kDamaged)
    return {
        ErrorCode::kDamaged,
        fmt::format("the value of {} (rank {}, iteration {}) is not stored, and what it would be computed "
                    "again from is damaged: {}",
                    run.graph().tensor(shown.id).fullName(), shown.rank.value, shown.iteration.value,
                    computing.message())};
  return {missing.code(), missing.message() + "; nor computed again: " + computing.message()};
}

// A value that is not stored, or damaged. `missing`, and why it cannot be computed.
Result<Tensor> computedValue(const OpenedRun& run, const ShowOptions& options, const Context& context,
                             const Error& missing, Shown& shown) {
  const bool damaged = missing.code() == ErrorCode::kDamaged;
  if (options.storedOnly || !(damaged || missing.code() == ErrorCode::kUnavailable)) return missing;
  MSDBG_TRY(checkSlice(run, options, shown));
  Computing computing(run, context);
  auto computed = computing.value(shown.rank, shown.iteration, shown.id);
  if (!computed.ok()) return neither(run, shown, missing, computed.error());
  if (damaged) printWarning("computed again, since what is stored cannot be read: " + missing.message());
  for (const auto& [checkpoint, why] : computed->passedOver)
    if (!damaged || why != missing.message())
      printWarning(fmt::format("the checkpoint of iteration {} cannot be read: {}", checkpoint.value, why));
  if (damaged || !computed->passedOver.empty()) printWarning(replay::damageAdvice());
  shown.otherHere = computing.otherHere();
  if (computed->evidence != replay::ComputedValues::Evidence::kHash) computing.warnOfEnvironment();
  shown.computed = std::move(*computed);
  return shown.computed->value;
}

core::Status find(const OpenedRun& run, ShowOptions& options, const Context& context, Shown& shown) {
  MSDBG_ASSIGN(shown.id, replay::resolveTensor(run.graph(), options.tensor));
  MSDBG_ASSIGN(shown.rank, checkedRank(run, options.rank));
  MSDBG_TRY(takeStep(run, shown.rank, options.step, options.iteration));
  if (options.iteration) {
    MSDBG_TRY(checkIteration(run, shown.rank, *options.iteration));
    shown.iteration = core::Iteration(*options.iteration);
  } else {
    MSDBG_ASSIGN(shown.iteration, defaultIteration(run, shown.rank, shown.id));
  }
  describe(run, shown);
  Result<Tensor> value = run.run->value(shown.rank, shown.iteration, shown.id);
  if (!value.ok()) value = computedValue(run, options, context, value.error(), shown);
  const auto isLast = [](const Error& error) {
    return error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kUsage;
  };
  if (!value.ok() && isLast(value.error())) return value.error();
  if (!value.ok()) {
    const bool thinned = !shown.statistics && run.run->thinned(shown.rank, shown.iteration);
    const Error why =
        thinned ? run.run->missingStatistics(shown.rank, shown.iteration, shown.id) : value.error();
    shown.missing = withNearest(run, shown, why);
    return core::Ok{};
  }
  shown.value = std::move(value).value();
  if (!shown.statistics) shown.statistics.emplace().values = core::computeStatistics(*shown.value);
  if (!options.slice.empty()) {
    Result<Tensor> slice = replay::sliceTensor(*shown.value, options.slice);
    if (!slice.ok()) return slice.error().in("--slice");
    shown.value = std::move(slice).value();
  }
  return core::Ok{};
}

const char* originName(replay::ValueOrigin origin) {
  switch (origin) {
    case replay::ValueOrigin::kTensor:
      return "tensor";
    case replay::ValueOrigin::kCheckpoint:
      return "checkpoint";
    case replay::ValueOrigin::kBatch:
      return "batch";
  }
  return "";
}

const char* evidenceName(replay::ComputedValues::Evidence evidence) {
  switch (evidence) {
    case replay::ComputedValues::Evidence::kHash:
      return "recorded_hash";
    case replay::ComputedValues::Evidence::kNone:
      return "none";
    case replay::ComputedValues::Evidence::kOther:
      return "other_hash";
    case replay::ComputedValues::Evidence::kFollows:
      return "made_of_other_hash";
  }
  return "";
}

Json computedJson(const OpenedRun& run, const replay::ComputedValues::Computed& computed) {
  Json json;
  json["from"] = computed.cost.checkpoint.value;
  json["iterations"] = computed.cost.iterations;
  json["kept"] = computed.kept;
  json["evidence"] = evidenceName(computed.evidence);
  json["passed_over"] = Json::array();  // damaged checkpoints
  for (const auto& [checkpoint, why] : computed.passedOver)
    json["passed_over"].push_back({{"iteration", checkpoint.value}, {"why", why}});
  json["different_since"] = Computing::json(run, computed.since);
  return json;
}

/// Not what training had.
bool isOther(const Shown& shown) {
  return shown.computed && !replay::ComputedValues::isTrainings(shown.computed->evidence);
}

std::string deviceOf(const OpenedRun& run, const Shown& shown) {
  return replay::deviceOf(run.graph(), run.run->part(shown.rank, shown.iteration), shown.id);
}

Json shownJson(const OpenedRun& run, const ShowOptions& options, const Shown& shown) {
  const core::TensorInfo& tensor = run.graph().tensor(shown.id);
  Json json = document("show");
  json["run"] = run.path;
  json["tensor"] = tensor.fullName();
  json["rank"] = shown.rank.value;
  json["iteration"] = shown.iteration.value;
  addStep(json, run, shown.rank, shown.iteration);
  json["dtype"] = core::dtypeName(tensor.dtype);
  if (const std::string device = deviceOf(run, shown); !device.empty()) json["device"] = device;
  json["shape"] = shapeJson(shown.value && options.slice.empty() ? shown.value->shape() : tensor.shape);
  json["role"] = core::roleName(tensor.role);
  json["source"] = sourceJson(run.graph(), framesOf(run.graph(), shown.id));
  json["statistics"] = shown.statistics ? statisticsJson(*shown.statistics) : Json();
  json["hash"] = shown.hash ? Json(shown.hash->text()) : Json();
  json["stored"] = shown.value.has_value() && !shown.computed;
  json["origin"] = shown.computed                ? Json("computed")
                   : shown.value && shown.origin ? Json(originName(*shown.origin))
                                                 : Json();
  json["computed"] = shown.computed ? computedJson(run, *shown.computed) : Json();
  if (shown.computed) json["computed"]["otherwise_here"] = shown.otherHere;
  json["slice"] = textOrNull(options.slice);
  json["npy"] = textOrNull(options.npy);
  const bool written = shown.value && !options.npy.empty();
  json["npy_dtype"] = written ? Json(core::dtypeName(replay::npyDType(shown.value->dtype()))) : Json();
  const bool print = shown.value && options.npy.empty() && options.bytes.empty() &&
                     shown.value->elements() <= kMostJsonValues;
  json["values"] = print ? tensorJson(*shown.value) : Json();
  return json;
}

void printShown(const OpenedRun& run, const ShowOptions& options, const Shown& shown) {
  const core::TensorInfo& tensor = run.graph().tensor(shown.id);
  core::TensorInfo told = tensor;  // of several versions the graph shows the newest
  if (shown.value && options.slice.empty()) told.shape = shown.value->shape();
  const std::string device = deviceOf(run, shown);
  fmt::print("{}   {}   {}{}\n", core::printable(tensor.fullName()), typeText(told),
             core::roleName(tensor.role), device.empty() ? "" : "   " + core::printable(device));
  fmt::print("rank {}, iteration {}   {}\n", shown.rank.value,
             replay::iterationText(*run.run, shown.rank, shown.iteration),
             core::printable(sourceLine(run.graph().userFrame(framesOf(run.graph(), shown.id)))));
  if (shown.statistics || shown.hash) fmt::print("\n");
  if (shown.statistics) fmt::print("{}", statisticsBlock(*shown.statistics, 2));
  const bool other = isOther(shown);
  if (shown.hash) fmt::print("  {}hash {}\n", other ? "recorded " : "", shown.hash->text());
  if (shown.value && !shown.computed && shown.origin && *shown.origin != replay::ValueOrigin::kTensor)
    fmt::print("  from the {} of this iteration\n", originName(*shown.origin));
  if (shown.computed) fmt::print("  {}\n", wrapped(Computing::text(run, *shown.computed), 2, 98));
  if (!shown.value || !options.npy.empty()) return;
  fmt::print("\n");
  if (!options.slice.empty()) fmt::print("[{}]   {}\n", options.slice, shown.value->shape().text());
  fmt::print("{}", tensorText(*shown.value, 0));
}

// Who asks for the newest value is told where there was a newer one.
bool newerIsLost(const OpenedRun& run, const Shown& shown) {
  return std::ranges::any_of(run.run->damage(), [&](const replay::Damage& damage) {
    return damage.rank == shown.rank && !damage.iterations.empty() &&
           damage.iterations.back() > shown.iteration.value;
  });
}

// Who waited for a computation must not learn then that it has nowhere to go. Nothing is made or changed.
core::Status checkWritable(const std::string& given) {
  if (given.empty()) return core::Ok{};
  const std::filesystem::path file = given;
  std::error_code error;
  const auto cannot = [&](int why) {
    return Error(ErrorCode::kIo, fmt::format("cannot write {}: {}", given, strerror(why)));
  };
  if (std::filesystem::is_directory(file, error)) return cannot(EISDIR);
  const bool there = std::filesystem::exists(file, error);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int denied = there ? access(file.c_str(), W_OK) : access(folder.c_str(), W_OK | X_OK);
  return denied == 0 ? core::Status(core::Ok{}) : cannot(errno);
}

// Row-major, as the tensor has them; the JSON says of which type.
core::Status writeBytes(const std::string& file, const Tensor& value) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(value.raw()), static_cast<std::streamsize>(value.bytes()));
  out.close();
  return out ? core::Status(core::Ok{}) : Error(ErrorCode::kIo, "cannot write " + file);
}

Result<int> show(ShowOptions options, const Context& context) {
  if (options.tensor.empty())
    return Error(ErrorCode::kUsage,
                 "show: which tensor? give --tensor NAME; msdbg info --tensors '*' lists them");
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  MSDBG_TRY(checkWritable(options.npy));
  MSDBG_TRY(checkWritable(options.bytes));
  Shown shown;
  MSDBG_TRY(find(run, options, context, shown));
  if (shown.value && !options.npy.empty()) MSDBG_TRY(replay::writeNpy(options.npy, *shown.value));
  if (shown.value && !options.bytes.empty()) MSDBG_TRY(writeBytes(options.bytes, *shown.value));
  if (context.json) {
    printJson(shownJson(run, options, shown));
  } else {
    printShown(run, options, shown);
    if (shown.value && !options.npy.empty())
      fmt::print("\nwritten to {}{}\n", options.npy, replay::npyNote(shown.value->dtype()));
  }
  if (shown.missing) return *shown.missing;
  if (isOther(shown)) return kExitHits;
  return !options.iteration && newerIsLost(run, shown) ? withDamage(run, kExitFine) : kExitFine;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<ShowOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--tensor", options->tensor, "its name, alias, a unique end of the name, or a glob")
      ->type_name("T");
  app.add_option("--iteration", options->iteration, "default: the newest one that has its value")
      ->type_name("K");
  addStepOption(app, options->step);
  app.add_option("--rank", options->rank, "default: the first")->type_name("R");
  app.add_option("--slice", options->slice, "as NumPy: 0,:,3:5")->type_name("SLICE");
  app.add_option("--npy", options->npy, "write the values to this .npy file")->type_name("FILE");
  app.add_option("--bytes", options->bytes, "write its bytes to this file")->group("");  // the window asks
  app.add_flag("--stored", options->storedOnly, "only what is stored: compute nothing again");
  return [options, &context] { return show(*options, context); };
}

}  // namespace

Command showCommand() {
  return {.name = "show",
          .summary = "one tensor: type, statistics and values",
          .examples =
              "  msdbg show --tensor conv3/weight\n"
              "  msdbg show --tensor 'grad(network/conv1/weight)' --iteration 7 --rank 1\n"
              "  msdbg show --tensor conv3/Conv-op1 --slice 0,:2,3:5,3:5\n"
              "  msdbg show alexnet-1.msdbg --tensor conv3/weight --npy weight.npy\n",
          .setup = setup};
}

}  // namespace msdbg::app
