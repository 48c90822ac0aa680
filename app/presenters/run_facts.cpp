#include "app/presenters/run_facts.h"

#include <algorithm>
#include <set>

namespace msdbg::app {

bool RunFacts::recorded(core::Rank rank, core::Iteration iteration) const {
  const auto found = iterations.find(rank);
  return found != iterations.end() && std::ranges::binary_search(found->second, iteration);
}

std::shared_ptr<const RunFacts> readFacts(replay::Run& run) {
  dump::RunReader& reader = run.reader();
  auto facts = std::make_shared<RunFacts>();
  std::error_code error;
  facts->path = std::filesystem::absolute(reader.folder(), error).lexically_normal();
  facts->info = reader.info();
  facts->recording = reader.recording();
  facts->graph = std::make_shared<const core::Graph>(run.graph());
  facts->ranks = run.ranks();
  std::set<core::Iteration> all;
  for (const core::Rank rank : facts->ranks) {
    facts->iterations[rank] = run.iterations(rank);
    all.insert(facts->iterations[rank].begin(), facts->iterations[rank].end());
  }
  facts->allIterations.assign(all.begin(), all.end());
  facts->scalars = reader.scalarNames();
  for (const std::string& file : reader.sourceFiles())
    facts->sources[file] = reader.sourceText(file).value_or(std::string());
  facts->damage = reader.damage();
  return facts;
}

}  // namespace msdbg::app
