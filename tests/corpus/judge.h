// The judge: asks a recorded case what `msdbg check` would say of it (the recommended set over replay::Run)
// and compares that with what is known about the case. One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tests/corpus/corpus.h"

namespace msdbg::corpus {

/// What a user reads: a case is judged by nothing else.
struct Said {
  bool fault = false;    // the first finding is one; else the first hint
  std::string headline;  // condition, place, rank, iteration, line
  std::string words;     // condition, title, detail and, where it is no list of everything, advice
  std::size_t faults = 0, hintLines = 0;
  double firstLoss = 0, lastLoss = 0;  // of rank 0: that the training was what it should be
  std::int64_t iterations = 0;
};

struct Judgement {
  Said said;
  bool found = false;  // anything at all
  bool place = false, cause = false;
  bool right = false;
  std::string why = {};  // not right: what is missing, in a few words
};

Judgement judge(const HealthyCase& tested, const std::filesystem::path& run);
Judgement judge(const SickCase& tested, const std::filesystem::path& run);

}  // namespace msdbg::corpus
