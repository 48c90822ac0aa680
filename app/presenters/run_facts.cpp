#include "app/presenters/run_facts.h"

#include <algorithm>
#include <set>

#include "replay/run_state.h"

namespace msdbg::app {

bool RunFacts::recorded(core::Rank rank, core::Iteration iteration) const {
  const auto found = iterations.find(rank);
  return found != iterations.end() && std::ranges::binary_search(found->second, iteration);
}

namespace {

// What may be other than it was. `recording` was asked before the journals were read: what was committed in
// between is seen the next time.
void readWhatGrows(RunFacts& facts, replay::Run& run, bool recording) {
  dump::RunReader& reader = run.reader();
  facts.info = reader.info();
  facts.recording = recording;
  facts.ranks = run.ranks();
  std::set<core::Iteration> all;
  for (const core::Rank rank : facts.ranks) {
    facts.iterations[rank] = run.iterations(rank);
    all.insert(facts.iterations[rank].begin(), facts.iterations[rank].end());
  }
  facts.allIterations.assign(all.begin(), all.end());
  if (facts.scalars.empty()) facts.scalars = reader.scalarNames();
  facts.end = replay::endOf(reader, recording);
  facts.damage = reader.damage();
}

}  // namespace

std::shared_ptr<const RunFacts> readFacts(replay::Run& run) {
  dump::RunReader& reader = run.reader();
  auto facts = std::make_shared<RunFacts>();
  std::error_code error;
  facts->path = std::filesystem::absolute(reader.folder(), error).lexically_normal();
  facts->graph = std::make_shared<const core::Graph>(run.graph());
  for (const std::string& file : reader.sourceFiles())
    facts->sources[file] = reader.sourceText(file).value_or(std::string());
  readWhatGrows(*facts, run, reader.recording());
  return facts;
}

core::Result<Growth> lookAgain(replay::Run& run, const RunFacts& before) {
  Growth growth;
  const bool recording = run.reader().recording();
  MSDBG_ASSIGN(const dump::RunGrowth found, run.refresh());
  if (!found.any() && recording == before.recording) return growth;
  auto facts = std::make_shared<RunFacts>(before);
  readWhatGrows(*facts, run, recording);
  growth.facts = std::move(facts);
  growth.newerGraph = found.newerGraph;
  return growth;
}

}  // namespace msdbg::app
