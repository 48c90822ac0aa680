// The corpus: small trainings as people write them, on which `msdbg check` is judged. Each is a function that
// builds a model and trains it through the public interface alone (what <msdbg/msdbg.h> installs); the
// program records it as `msdbg dump` would and compares what check says with what is known about the case.
//
// The answers of the sick ones were written from the mistake itself, before check was asked. They are not
// bent to it: what it gets wrong stays in known_misses.txt until it gets it right.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dump/session/msdbg.h"

namespace msdbg::corpus {

using Program = void (*)(Session& run);

/// Nothing is wrong: no fault, and at most two lines of hints.
struct HealthyCase {
  std::string_view name;
  Program train;
  int ranks = 1;
};

/// One mistake. Its place is the line with the comment WRONG in the program, or one of `places`: globs for a
/// node's or a tensor's name, for mistakes that are no line of the model (rates, data) and where several
/// answers are right; the reason stands beside them.
struct SickCase {
  std::string_view name;
  Program train;
  std::string_view cause;  // regular expression, case ignored: what the first finding's words must contain
  std::vector<std::string_view> places = {};
  int ranks = 1;
  int rank = -1;       // that is wrong; -1: any
  int iteration = -1;  // the first that is wrong; -1: any
};

// The tables, one for each file of cases. To add a case: the function, and a row at the end of its file.
std::span<const HealthyCase> healthyAttention();
std::span<const HealthyCase> healthyBatches();
std::span<const HealthyCase> healthyConverged();
std::span<const HealthyCase> healthyDetails();
std::span<const HealthyCase> healthyFormulas();
std::span<const HealthyCase> healthyFrozen();
std::span<const HealthyCase> healthyLookalikes();
std::span<const HealthyCase> healthyLosses();
std::span<const HealthyCase> healthyModels();
std::span<const HealthyCase> healthyNormalization();
std::span<const HealthyCase> healthyOptimizers();
std::span<const HealthyCase> healthyStrangers();
std::span<const SickCase> sickBatches();
std::span<const SickCase> sickData();
std::span<const SickCase> sickDetails();
std::span<const SickCase> sickFormulas();
std::span<const SickCase> sickLayers();
std::span<const SickCase> sickLosses();
std::span<const SickCase> sickNumbers();
std::span<const SickCase> sickRanks();
std::span<const SickCase> sickRates();
std::span<const SickCase> sickSequences();
std::span<const SickCase> sickSilent();
std::span<const SickCase> sickStrangers();

std::vector<HealthyCase> healthyCases();
std::vector<SickCase> sickCases();

}  // namespace msdbg::corpus
