#include "tests/corpus/corpus.h"

namespace msdbg::corpus {

std::vector<HealthyCase> healthyCases() {
  std::vector<HealthyCase> all;
  for (const auto part : {healthyNormalization(), healthyAttention(), healthyFrozen(), healthyOptimizers(),
                          healthyConverged(), healthyLosses(), healthyModels(), healthyStrangers(),
                          healthyLookalikes(), healthyBatches(), healthyDetails(), healthyFormulas()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<SickCase> sickCases() {
  std::vector<SickCase> all;
  for (const auto part :
       {sickRates(), sickLosses(), sickNumbers(), sickData(), sickLayers(), sickRanks(), sickStrangers(),
        sickSequences(), sickSilent(), sickBatches(), sickDetails(), sickFormulas()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace msdbg::corpus
