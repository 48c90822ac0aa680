#include "dump/policy/rule_doubts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core_engine/base/text.h"
#include "core_engine/graph/names.h"

namespace msdbg::dump {
namespace {

using core::Error;
using core::ErrorCode;
using core::IndexList;
using Texts = std::vector<std::string>;

bool holdsMultiple(std::int64_t first, std::int64_t last, std::int64_t of) {
  if (first > last) return false;
  const std::int64_t missing = first % of == 0 ? 0 : of - first % of;
  return missing <= last - first;
}

// In an iteration of the run that is recorded.
bool appliesEver(const Rule& rule, const RecordOptions& options, const PlannedRun& run) {
  std::int64_t both = 0;
  if (__builtin_mul_overflow(options.every, rule.every / std::gcd(options.every, rule.every), &both))
    both = IndexList::kOpen;  // 0 is the only multiple that can be met
  for (const IndexList::Range& recorded : options.iterations.ranges())
    for (const IndexList::Range& meant : rule.iterations.ranges()) {
      const std::int64_t first = std::max({recorded.first, meant.first, run.first});
      const std::int64_t last = std::min({recorded.last, meant.last, run.last(), IndexList::kOpen - 1});
      if (holdsMultiple(first, last, both)) return true;
    }
  return false;
}

std::string decidesNothing(const Rule& rule, const std::string& why) {
  return "the recording rule " + ruleText(rule) + " decides nothing in this run: " + why;
}

std::string nothingRecorded(const RecordOptions& options, const PlannedRun& run) {
  return "nothing will be recorded: of iterations " + run.iterations() + " none is in --iterations " +
         options.iterations.text() + " and divisible by --every " + std::to_string(options.every);
}

// Iterations are computed again one after the other, each from its batch.
std::string brokenRow(std::int64_t every) {
  const std::string n = std::to_string(every);
  return "with --every " + n + " there are batches of every " + n +
         " iterations only: none but those with a checkpoint can be computed again; to keep all batches and "
         "fewer hashes: --policy none --record '*=record,every=" +
         n + "' --batches --checkpoint-every auto";
}

std::string nearestTensor(const std::string& glob, const core::Graph& graph) {
  const std::string near = core::nearestTensors(graph, glob);
  return near.empty() ? "; globs match whole names, such as '*conv1*'" : near;
}

core::Status checkOperatorType(const std::string& glob, const core::Graph& graph) {
  std::set<std::string> all;
  for (const core::Node& node : graph.nodes()) all.insert(node.opType);
  const Texts types(all.begin(), all.end());
  if (std::ranges::any_of(types, [&](const std::string& type) { return core::globMatch(glob, type); }))
    return core::Ok{};
  return Error(ErrorCode::kNotFound,
               "no operator of the model is of the type '" + glob + "'" + core::didYouMean(glob, types));
}

core::Status fitsTogether(const Rule& rule, const core::Graph& graph) {
  MSDBG_ASSIGN(const RuleMatcher matcher, RuleMatcher::make(withFullNames(rule, graph)));
  for (const core::TensorInfo& tensor : graph.tensors())
    if (matcher.fits(graph, tensor)) return core::Ok{};
  return Error(ErrorCode::kNotFound,
               "all its filters together fit no tensor of the model; `msdbg info RUN --tensors '*'` lists "
               "names, types and kinds");
}

std::string ranksText(int ranks) {
  return ranks == 1 ? "there is rank 0 only" : "there are ranks 0-" + std::to_string(ranks - 1);
}

// Ranks of the run for which both rules are.
bool shareRank(const Rule& a, const Rule& b, const PlannedRun& run) {
  for (int rank = 0; rank < run.ranks; ++rank)
    if (a.ranks.contains(rank) && b.ranks.contains(rank)) return true;
  return false;
}

// The tensors that a rule fits, by their place in the graph.
core::Result<std::vector<bool>> tensorsOf(const core::Graph& graph, const Rule& rule) {
  MSDBG_ASSIGN(const RuleMatcher matcher, RuleMatcher::make(rule));
  std::vector<bool> fits;
  for (const core::TensorInfo& tensor : graph.tensors()) fits.push_back(matcher.fits(graph, tensor));
  return fits;
}

bool shareTensor(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

std::string shadowText(const Rule& rule, const Texts& before) {
  const bool one = before.size() == 1;
  return decidesNothing(rule, core::join(before, " and ") +
                                  (one ? " stands before it and fits" : " stand before it and fit") +
                                  " all that it fits");
}

}  // namespace

core::Status checkTensorName(const std::string& glob, const core::Graph& graph) {
  const auto meant = tensorsMeant(glob, graph);
  if (meant.ok()) return core::Ok{};
  const bool unknown = meant.error().code() == ErrorCode::kNotFound;
  return Error(meant.error().code(), meant.error().message() + (unknown ? nearestTensor(glob, graph) : ""));
}

std::vector<Error> ruleMistakes(const Rule& rule, const core::Graph& graph) {
  std::vector<Error> mistakes;
  const auto add = [&](const core::Status& status) {
    if (!status.ok()) mistakes.push_back(status.error());
  };
  for (const std::string& glob : rule.tensors) add(checkTensorName(glob, graph));
  for (const std::string& glob : rule.ops) add(checkOperatorType(glob, graph));
  if (mistakes.empty()) add(fitsTogether(rule, graph));
  return mistakes;
}

std::int64_t PlannedRun::last() const {
  if (!steps || *steps > IndexList::kOpen - first) return IndexList::kOpen;
  return first + *steps - 1;
}

std::string PlannedRun::iterations() const { return IndexList({{first, last()}}).text(); }

bool PlannedRun::has(const Rule& rule) const { return shareRank(rule, {}, *this); }

std::vector<std::string> planDoubts(const RecordOptions& options, const PlannedRun& run) {
  Texts doubts;
  if (!options.tensors.empty() && options.restPolicy() != Policy::kFull)
    doubts.push_back("tensors (" + core::join(options.tensors, ", ") +
                     ") chooses nothing: what no rule fits has no values (policy " +
                     std::string(policyName(options.restPolicy())) + ")");
  if (!appliesEver({}, options, run)) {
    doubts.push_back(nothingRecorded(options, run));
    return doubts;
  }
  if (options.every > 1 && options.keepsBatches() && options.checkpoints() != RecordOptions::kNoCheckpoints)
    doubts.push_back(brokenRow(options.every));
  for (const Rule& rule : options.rules) {
    if (!run.has(rule))
      doubts.push_back(decidesNothing(rule, ranksText(run.ranks)));
    else if (!appliesEver(rule, options, run))
      doubts.push_back(
          decidesNothing(rule, "of iterations " + run.iterations() + " it fits none that is recorded"));
  }
  return doubts;
}

core::Result<std::vector<std::string>> shadowedRules(const core::Graph& graph, const RecordOptions& options,
                                                     const PlannedRun& run, const ExpectedSize& size) {
  Texts shadowed;
  const std::vector<Rule> rules = options.allRules();
  for (std::size_t r = 0; r + 1 < rules.size(); ++r) {  // the last one is what is left
    const Rule& rule = rules[r];
    if (size.parts[r].tensors > 0 || !run.has(rule) || !appliesEver(rule, options, run)) continue;
    MSDBG_ASSIGN(const std::vector<bool> tensors, tensorsOf(graph, rule));
    Texts before;
    for (std::size_t q = 0; q < r; ++q) {
      MSDBG_ASSIGN(const std::vector<bool> others, tensorsOf(graph, rules[q]));
      if (size.parts[q].tensors > 0 && shareRank(rule, rules[q], run) && shareTensor(tensors, others))
        before.push_back(ruleText(rules[q]));
    }
    if (!before.empty()) shadowed.push_back(shadowText(rule, before));
  }
  return shadowed;
}

}  // namespace msdbg::dump
