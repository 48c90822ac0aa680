// msdbg replay: computes iterations again from what a run recorded of them.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/engine/precision.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/table.h"
#include "core_engine/tensor/index_text.h"
#include "replay/recompute/environment.h"
#include "replay/recompute/prove.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct ReplayOptions {
  std::string run, iterations, dtype;
  bool prove = false, strict = false;
  PrecisionOptions precision = {};
};

std::string valuesText(const core::Graph& graph, const replay::Mismatch& mismatch) {
  if (!mismatch.hasHash() && !mismatch.values)
    return graph.tensor(mismatch.tensor).role == core::TensorRole::kLoss
               ? "the recorded loss is another (no hash of it is recorded)"
               : "it had another number of NaN or Inf than here (no hash of it is recorded)";
  if (!mismatch.values) return "its value is not stored: only the hashes tell";
  const replay::BitDifference& d = *mismatch.values;
  std::string text =
      fmt::format("{} of {} elements differ; the first, [{}]: recorded {}, computed {}",
                  groupedNumber(d.different), groupedNumber(d.shape.elements()),
                  core::indexText(d.shape, d.first), core::formatShort(d.a, 9), core::formatShort(d.b, 9));
  if (d.ulp) text += fmt::format(" ({} ulp)", *d.ulp);
  return text;
}

void print(const OpenedRun& run, const replay::Mismatch& mismatch) {
  const core::Graph& graph = run.graph();
  fmt::print("  {}   iteration {}, rank {}   {}\n",
             core::printable(tensorName(graph.tensor(mismatch.tensor))), mismatch.iteration.value,
             mismatch.rank.value,
             core::printable(sourceLine(graph.userFrame(framesOf(graph, mismatch.tensor)))));
  if (mismatch.order < 0 && mismatch.hasHash())
    fmt::print("    nothing computes it: it changed between two iterations\n");
  else if (mismatch.order < 0)
    fmt::print(
        "    its checkpoint contradicts what training comes to from the one before; no hash of it is "
        "recorded\n");
  // Where there is no hash of it, there may be none of what it read.
  if (!mismatch.kernel.empty())
    fmt::print("    by {}{}\n", mismatch.kernel,
               !mismatch.hasHash() ? ""
               : mismatch.origin   ? ", from inputs that are as recorded"
                                   : ", from inputs that differ already");
  fmt::print("    {}\n", valuesText(graph, mismatch));
}

// Of the first iteration in which something differs, where it began: the rest follows from that.
std::vector<replay::Mismatch> beginnings(const replay::Proof& proof) {
  std::vector<replay::Mismatch> first, found;
  std::ranges::copy_if(proof.mismatches, std::back_inserter(first), [&](const replay::Mismatch& m) {
    return m.iteration == proof.mismatches.front().iteration;
  });
  std::ranges::copy_if(first, std::back_inserter(found), &replay::Mismatch::origin);
  return found.empty() ? first : found;
}

std::string headOf(const replay::Proof& proof) {
  const core::IterationSet& told = proof.equal() ? proof.computed : proof.different;
  if (told.empty()) return "";
  return fmt::format("{} {}{}: ", told.size() == 1 ? "iteration" : "iterations", told.text(),
                     proof.equal()      ? ""
                     : told.size() == 1 ? " is different"
                                        : " are different");
}

void print(const OpenedRun& run, const replay::Proof& proof) {
  const std::string path = core::printable(run.path);
  fmt::print("{}: {}{}\n", path, headOf(proof), replay::verdictText(proof));
  if (!proof.nothingCompared()) {
    fmt::print("  computed: {}; {} ({}) compared with their hashes", proof.computed.text(),
               counted(proof.tensors, "tensor"), core::formatBytes(proof.bytes));
    if (proof.values > 0) fmt::print(", {} byte by byte", counted(proof.values, "stored value"));
    if (proof.states > 0) fmt::print(", {} byte by byte", counted(proof.states, "value") + " of checkpoints");
    if (proof.digests > 0)
      fmt::print(", {} by the digest that thinning left", counted(proof.digests, "iteration"));
    fmt::print("\n");
  }
  if (!proof.equal()) {
    fmt::print("\nFIRST DIFFERENT\n");
    constexpr std::size_t kShown = 10;
    const std::vector<replay::Mismatch> shown = beginnings(proof);
    for (std::size_t i = 0; i < std::min(kShown, shown.size()); ++i) print(run, shown[i]);
    if (shown.size() > kShown) fmt::print("  and {} more (--json has them)\n", shown.size() - kShown);
    if (shown.empty())
      fmt::print("  iteration {}: its statistics were thinned, so nobody knows in which tensor\n",
                 proof.different.front());
  }
  for (const replay::Proof::Unproved& part : proof.damaged)
    fmt::print("  damaged: {}: {}\n", replay::numbered("iteration", part.iterations),
               core::printable(part.why));
  for (const std::string& other : proof.otherHere)
    fmt::print("  otherwise here: {}\n", core::printable(other));
  for (const replay::Proof::Unproved& part : proof.unproved)
    fmt::print("  not compared: {}: {}\n", replay::numbered("iteration", part.iterations),
               core::printable(part.why));
}

Json mismatchJson(const OpenedRun& run, const replay::Mismatch& mismatch) {
  const core::Graph& graph = run.graph();
  Json json;
  json["iteration"] = mismatch.iteration.value;
  json["rank"] = mismatch.rank.value;
  json["order"] = mismatch.order < 0 ? Json() : Json(mismatch.order);
  json["tensor"] = tensorName(graph.tensor(mismatch.tensor));
  json["kernel"] = textOrNull(mismatch.kernel);
  json["source"] = sourceJson(graph, framesOf(graph, mismatch.tensor));
  json["origin"] = mismatch.origin;
  json["recorded_hash"] = mismatch.hasHash() ? Json(mismatch.recorded.text()) : Json();
  json["computed_hash"] = mismatch.computed.text();
  json["values"] = Json();
  if (const auto& d = mismatch.values)
    json["values"] = {{"elements", d->shape.elements()},
                      {"differing", d->different},
                      {"first", core::indexOf(d->shape, d->first)},
                      {"recorded", number(d->a)},
                      {"computed", number(d->b)},
                      {"ulp", d->ulp ? Json(*d->ulp) : Json()},
                      {"largest", number(d->maxAbs)}};
  return json;
}

const char* againName(replay::Again again) {
  switch (again) {
    case replay::Again::kNotAsked:
      return nullptr;
    case replay::Again::kSame:
      return "same";
    case replay::Again::kOther:
      return "other";
  }
  return nullptr;
}

Json partsJson(const std::vector<replay::Proof::Unproved>& parts) {
  Json json = Json::array();
  for (const auto& part : parts) json.push_back({{"iterations", part.iterations.text()}, {"why", part.why}});
  return json;
}

Json proofJson(const OpenedRun& run, const replay::Proof& proof) {
  Json json = document("replay");
  json["run"] = run.path;
  json["equal"] = proof.equal();
  json["verdict"] = replay::verdictText(proof);
  json["iterations"] = proof.computed.text();
  json["tensors"] = proof.tensors;
  json["bytes"] = proof.bytes;
  json["values"] = proof.values;
  json["checkpoint_values"] = proof.states;
  json["digests"] = proof.digests;
  json["different"] = proof.different.text();
  json["second_computation"] = againName(proof.again) ? Json(againName(proof.again)) : Json();
  json["mismatches"] = Json::array();
  for (const replay::Mismatch& each : proof.mismatches) json["mismatches"].push_back(mismatchJson(run, each));
  json["not_compared"] = partsJson(proof.unproved);
  json["damaged"] = partsJson(proof.damaged);
  json["otherwise_here"] = proof.otherHere;
  return json;
}

bool anyIn(const core::IterationSet& asked, const core::IterationSet& computed) {
  return std::ranges::any_of(asked.numbers(), [&](std::int64_t each) { return computed.contains(each); });
}

Result<int> prove(const ReplayOptions& options, const Context& context) {
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(run, "--iteration", options.iterations));
  const core::IterationSet asked = recordedIterations(run, run.run->ranks(), list);
  replay::matchInstructionSet(run.run->description());
  if (options.strict)
    if (const auto other = replay::environmentDifferences(run.run->description()); !other.empty())
      return Error(ErrorCode::kUnavailable,
                   fmt::format("--strict: {}: otherwise here: {}", run.path, core::join(other, "; ")));
  Result<replay::Proof> proof = Error(ErrorCode::kInternal, "");
  {
    Progress progress;
    proof = replay::prove(*run.run, asked,
                          {.cancel = context.cancel, .progress = [&](std::int64_t done, std::int64_t all) {
                             progress.line(fmt::format("computing iteration {} of {}", done + 1, all));
                           }});
  }
  if (!proof.ok())
    return proof.error().code() == ErrorCode::kCancelled ? cancelledError() : proof.error().in(run.path);
  if (context.json)
    printJson(proofJson(run, *proof));
  else
    print(run, *proof);
  if (!proof->equal()) return withDamage(run, kExitHits);
  const bool answered = !proof->nothingCompared() && anyIn(asked, proof->computed);
  const int status = withDamage(run, answered ? kExitFine : kExitNoAnswer);
  return status == kExitFine && !proof->damaged.empty() ? kExitDamaged : status;
}

Result<int> replay(const ReplayOptions& options, const Context& context) {
  if (options.prove == !options.dtype.empty())
    return Error(ErrorCode::kUsage,
                 "say what to do with the iterations: --prove compares them with what was recorded, --dtype "
                 "float64 says what float32 lost");
  const PrecisionOptions& chosen = options.precision;
  if (options.prove && (chosen.rank || !chosen.tensors.empty() || chosen.all))
    return Error(ErrorCode::kUsage,
                 "--rank, --tensors and --all go with --dtype: --prove compares every tensor of every rank");
  if (options.prove) return prove(options, context);
  if (options.dtype != "float64")
    return Error(ErrorCode::kUsage, "--dtype " + options.dtype + ": only float64 is compared with");
  if (options.strict) return Error(ErrorCode::kUsage, "--strict goes with --prove");
  PrecisionOptions precise = options.precision;
  precise.run = options.run;
  precise.iteration = options.iterations;
  return precision(precise, context);
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReplayOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--iteration,--iterations", options->iterations,
                 "these: 7, 0-20, 100- (default: all that are recorded)")
      ->type_name("LIST");
  app.add_flag("--prove", options->prove,
               "compare every tensor with its recorded hash, and every stored value byte by byte");
  app.add_flag("--strict", options->strict,
               "refuse where libraries or CPU are others than the recorded ones");
  app.add_option(
         "--dtype", options->dtype,
         "float64: each node of one iteration in float64, from its recorded inputs and throughout; which "
         "lost precision, and how")
      ->type_name("DTYPE");
  app.add_option("--rank", options->precision.rank, "with --dtype: only this rank")->type_name("R");
  app.add_option("--tensors", options->precision.tensors, "with --dtype: only these")->type_name("GLOB");
  app.add_flag("--all", options->precision.all, "with --dtype: every tensor, not only the worst");
  return [options, &context] { return replay(*options, context); };
}

}  // namespace

Command replayCommand() {
  return {.name = "replay",
          .summary = "compute iterations again from the recording alone",
          .examples =
              "  msdbg replay --prove                              every iteration of the newest run here\n"
              "  msdbg replay alexnet-1.msdbg --iteration 7 --prove\n"
              "  msdbg replay --iteration 100-200 --prove --json\n"
              "  msdbg replay --iteration 7 --dtype float64        where float32 lost precision\n",
          .setup = setup};
}

}  // namespace msdbg::app
