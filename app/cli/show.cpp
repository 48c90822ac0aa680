// msdbg show: one tensor of one iteration and rank: type, statistics, hash, values.
#include <fmt/format.h>

#include <algorithm>
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
#include "replay/npy.h"
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
  if (missing.code() != ErrorCode::kUnavailable) return missing;
  const auto found = replay::nearestValue(*run.run, shown.rank, shown.iteration, shown.id);
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

// A value that is not stored. kUnavailable: `missing`, and why it cannot be computed.
Result<Tensor> computedValue(const OpenedRun& run, const ShowOptions& options, const Context& context,
                             const Error& missing, Shown& shown) {
  if (options.storedOnly || missing.code() != ErrorCode::kUnavailable) return missing;
  auto computed = Computing(run, context).value(shown.rank, shown.iteration, shown.id);
  if (computed.ok()) {
    shown.computed = std::move(*computed);
    return shown.computed->value;
  }
  if (computed.error().code() == ErrorCode::kCancelled) return cancelledError();
  return Error(missing.code(), missing.message() + "; nor computed again: " + computed.error().message());
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
  if (!value.ok() && value.error().code() == ErrorCode::kCancelled) return value.error();
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
  json["evidence"] = evidenceName(computed.evidence);
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
  if (shown.value && shown.origin && *shown.origin != replay::ValueOrigin::kTensor)
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
