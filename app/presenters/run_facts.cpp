#include "app/presenters/run_facts.h"

#include <algorithm>

#include "replay/run_state.h"

namespace msdbg::app {

bool RunFacts::recorded(core::Rank rank, core::Iteration iteration) const {
  const auto found = iterations.find(rank);
  return found != iterations.end() && std::ranges::binary_search(found->second, iteration);
}

namespace {

// Of the iterations that have come since.
void readSteps(RunFacts& facts, replay::Run& run) {
  if (facts.ranks.empty() || std::ranges::find(facts.scalars, "step") == facts.scalars.end()) return;
  for (const core::Iteration iteration : facts.iterations[facts.ranks.front()])
    if (!facts.steps.has(iteration))
      if (const auto step = replay::userStep(run, facts.ranks.front(), iteration))
        facts.steps.set(iteration, *step);
}

// What may be other than it was. `recording` was asked before the journals were read: what was committed in
// between is seen the next time.
// Their names may come later than those of the scalars that every iteration has.
void readMetrics(RunFacts& facts, const replay::Run& run) {
  facts.metrics.clear();
  for (const core::Rank rank : facts.ranks)
    for (const replay::Metric& metric : run.metrics(rank)) facts.metrics[metric.name][rank] = metric.values;
  for (const auto& [name, values] : facts.metrics)
    if (std::ranges::find(facts.scalars, name) == facts.scalars.end()) facts.scalars.push_back(name);
}

void readWhatGrows(RunFacts& facts, replay::Run& run, bool recording) {
  facts.description = run.description();
  facts.recording = recording;
  facts.ranks = run.ranks();
  core::IterationSet all;
  for (const core::Rank rank : facts.ranks) {
    facts.iterations[rank] = run.iterations(rank);
    all.append(run.iterationSet(rank));
  }
  facts.allIterations.clear();
  for (const std::int64_t iteration : all) facts.allIterations.emplace_back(iteration);
  if (facts.scalars.empty()) facts.scalars = run.scalarNames();
  readMetrics(facts, run);
  readSteps(facts, run);
  facts.end = run.end();
  facts.damage = run.damage();
}

}  // namespace

std::shared_ptr<const RunFacts> readFacts(replay::Run& run) {
  auto facts = std::make_shared<RunFacts>();
  std::error_code error;
  facts->path = std::filesystem::absolute(run.folder(), error).lexically_normal();
  facts->graph = std::make_shared<const core::Graph>(run.graph());
  for (const std::string& file : run.sourceFiles())
    facts->sources[file] = run.sourceText(file).value_or(std::string());
  readWhatGrows(*facts, run, run.recording());
  return facts;
}

core::Result<Growth> lookAgain(replay::Run& run, const RunFacts& before) {
  Growth growth;
  replay::Growing* const growing = run.growing();
  if (!growing) return growth;
  const bool recording = run.recording();
  MSDBG_ASSIGN(const replay::RunGrowth found, growing->refresh());
  if (!found.any && recording == before.recording) return growth;
  auto facts = std::make_shared<RunFacts>(before);
  readWhatGrows(*facts, run, recording);
  growth.facts = std::move(facts);
  growth.newerGraph = found.newerGraph;
  return growth;
}

}  // namespace msdbg::app
