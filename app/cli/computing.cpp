#include "app/cli/computing.h"

#include <fmt/format.h>

#include "app/cli/engine.h"
#include "app/cli/table.h"
#include "app/cli/timing_text.h"
#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/graph_union.h"
#include "replay/describe.h"
#include "replay/tensor/value_cache.h"

namespace msdbg::app {

using core::Ok;
using core::Result;
using core::Status;
using replay::ComputedValues;

namespace {

constexpr double kQuick = 1;                  // seconds that nobody needs to be told of
constexpr std::uint64_t kBesides = 64 << 20;  // bytes of other values of an iteration that are kept with one

core::Shape shapeOf(const OpenedRun& run, core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
  const core::GraphPart* part = run.run->part(rank, iteration);
  return part && part->has(tensor) ? part->shape(run.graph(), tensor) : run.graph().tensor(tensor).shape;
}

/// nullopt, with a warning where what the user asked for makes no sense: nothing is kept.
std::optional<replay::ValueCache> cacheOf(const OpenedRun& run) {
  core::Result<replay::ValueCache> cache = replay::ValueCache::ofUser(run.run->description().id);
  if (cache.ok()) return *std::move(cache);
  if (cache.error().code() != core::ErrorCode::kUnavailable)
    printWarning("computed values are not kept: " + cache.error().message());
  return std::nullopt;
}

// "the checkpoint of iteration 24 is", "the checkpoints of iterations 24, 32 are"
std::string passedOverText(const ComputedValues::Computed& computed) {
  core::IterationSet iterations;
  for (const auto& [iteration, why] : computed.passedOver) iterations.push_back(iteration.value);
  const bool one = iterations.size() == 1;
  return fmt::format("the checkpoint{} of {} {}", one ? "" : "s", replay::numbered("iteration", iterations),
                     one ? "is" : "are");
}

}  // namespace

Computing::Computing(const OpenedRun& run, const Context& context) : m_run(run), m_context(context) {}

Computing::~Computing() {
  if (m_helps) m_run.run->computeMissingBy(nullptr);
}

Status Computing::start() {
  if (m_values) return Ok{};
  m_progress = std::make_unique<Progress>();
  const auto progress = [this](std::int64_t done, std::int64_t all) {
    if (all > 1) m_progress->line(fmt::format("computing iteration {} of {}", done + 1, all));
  };
  MSDBG_ASSIGN(m_values, m_context.engine.values(*m_run.run, m_context.cancel, progress));
  return Ok{};
}

Result<ComputedValues::Computed> Computing::value(core::Rank rank, core::Iteration iteration,
                                                  core::TensorId tensor) {
  if (auto kept = fromCache(rank, iteration, tensor)) return *std::move(kept);
  MSDBG_TRY(start());
  MSDBG_ASSIGN(const ComputedValues::Cost cost, m_values->cost(iteration));
  if (cost.seconds > kQuick)
    core::logSay(fmt::format("computing {} again from iteration {}: about {}, as training took; Ctrl-C stops",
                             counted(cost.iterations, "iteration"), cost.checkpoint.value,
                             aboutSeconds(cost.seconds)));
  Result<ComputedValues::Computed> computed = m_values->compute(rank, iteration, tensor);
  m_progress->clear();
  if (computed.ok()) toCache(iteration, *computed);
  return computed;
}

std::optional<ComputedValues::Computed> Computing::fromCache(core::Rank rank, core::Iteration iteration,
                                                             core::TensorId tensor) {
  const Result<core::Hash128> hash = m_run.run->hash(rank, iteration, tensor);
  const std::optional<replay::ValueCache> cache = hash.ok() ? cacheOf(m_run) : std::nullopt;
  if (!cache) return std::nullopt;
  std::optional<core::Tensor> value =
      cache->find(*hash, m_run.graph().tensor(tensor).dtype, shapeOf(m_run, rank, iteration, tensor));
  if (!value) return std::nullopt;
  return ComputedValues::Computed{
      *std::move(value), ComputedValues::Evidence::kHash, {iteration, 0, 0}, {}, {}, true};
}

void Computing::toCache(core::Iteration iteration, const ComputedValues::Computed& asked) {
  std::optional<replay::ValueCache> cache = cacheOf(m_run);
  if (!cache || asked.evidence != ComputedValues::Evidence::kHash) return;
  Status kept = Ok{};
  std::uint64_t bytes = 0;
  m_values->forEachProven(iteration, [&](core::Rank rank, core::TensorId tensor, const core::Tensor& value) {
    const bool isAsked = value.address() == asked.value.address();
    if (!kept.ok() || (!isAsked && bytes + value.bytes() > kBesides)) return;
    if (!isAsked) bytes += value.bytes();
    if (const Result<core::Hash128> hash = m_run.run->hash(rank, iteration, tensor); hash.ok())
      kept = cache->keep(*hash, value);
  });
  if (!kept.ok()) printWarning("computed values are not kept for later: " + kept.error().message());
  cache->trim();
}

Status Computing::helpOut() {
  MSDBG_TRY(start());
  m_run.run->computeMissingBy(m_values.get());
  m_helps = true;
  return Ok{};
}

Result<replay::ValueSource*> Computing::source() {
  MSDBG_TRY(start());
  return m_values.get();
}

std::optional<replay::Mismatch> Computing::firstDifference() const {
  if (!m_values) return std::nullopt;
  const std::vector<replay::Mismatch> all = m_values->differences();
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::vector<std::string> Computing::otherHere() const {
  return m_values ? m_values->otherHere() : std::vector<std::string>();
}

void Computing::clearProgress() {
  if (m_progress) m_progress->clear();
}

void Computing::warnOfEnvironment() const {
  const std::vector<std::string> other = otherHere();
  if (!other.empty())
    printWarning(fmt::format(
        "computed in another environment than the recorded one ({}): without a recorded hash to hold them "
        "against, bits may be others than the training's",
        core::join(other, "; ")));
}

int Computing::withDifferences(int status) const {
  if (!m_values) return status;
  warnOfEnvironment();
  constexpr std::size_t kShown = 3;
  const std::vector<replay::Mismatch> all = m_values->differences();
  for (std::size_t i = 0; i < std::min(kShown, all.size()); ++i)
    printWarning(fmt::format(
        "computed again, {} is not as recorded, and what follows up to the next checkpoint was left out",
        Computing::text(m_run, all[i])));
  if (all.size() > kShown) printWarning(fmt::format("and {} more such places", all.size() - kShown));
  if (!all.empty()) printWarning("msdbg replay --prove tells more");
  return status == kExitFine && !all.empty() ? kExitHits : status;
}

std::string Computing::whyNone() const {
  const bool failed = m_values && m_values->failure();
  return failed ? "; nor computed again: " + m_values->failure()->message() : "";
}

std::string Computing::text(const OpenedRun& run, const ComputedValues::Computed& computed) {
  std::string text =
      computed.cost.iterations == 0
          ? std::string(computed.kept ? "computed again before, and kept" : "computed again")
          : fmt::format("computed again from iteration {} ({})", computed.cost.checkpoint.value,
                        counted(computed.cost.iterations, "iteration"));
  if (!computed.passedOver.empty()) text += fmt::format(", since {} damaged", passedOverText(computed));
  switch (computed.evidence) {
    case ComputedValues::Evidence::kHash:
      return text + "; it has the recorded hash";
    case ComputedValues::Evidence::kNone:
      return text + "; no hash of it was recorded to hold it against";
    case ComputedValues::Evidence::kOther:
      text += "; it is NOT what training had: its hash is another than the recorded one";
      break;
    case ComputedValues::Evidence::kFollows:
      text +=
          "; it is NOT what training had: no hash of it was recorded, but it, or what it is made of, differs";
      break;
  }
  if (computed.since)
    text += fmt::format("; the first that differs is {} (msdbg replay --prove)",
                        Computing::text(run, *computed.since));
  return text;
}

Json Computing::json(const OpenedRun& run, const std::optional<replay::Mismatch>& at) {
  if (!at) return Json();
  return {{"tensor", at->tensor.valid() ? Json(tensorName(run.graph().tensor(at->tensor))) : Json()},
          {"iteration", at->iteration.value},
          {"rank", at->rank.value}};
}

std::string Computing::text(const OpenedRun& run, const replay::Mismatch& at) {
  return fmt::format("{} of iteration {}, rank {}",
                     at.tensor.valid() ? tensorName(run.graph().tensor(at.tensor)) : "some tensor",
                     at.iteration.value, at.rank.value);
}

}  // namespace msdbg::app
