// Which input of an operator is to blame for a wrong output, and what to do about it: the divisor that is 0,
// the argument of a logarithm that is not positive, the activation that is dead. Of statistics; where values
// are stored too, the element is named. Used from one thread, as the source is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "watchpoints/source.h"

namespace msdbg::watch {

/// What is wrong with a tensor.
enum class Wrong : std::uint8_t {
  kNonFinite,  // it holds NaN or Inf
  kAllZero,    // nothing but zeros
  kZero,       // zeros where none may be
  kExtreme,    // finite, but too large, too small, or out of the range that somebody needs
};

struct Blame {
  std::size_t input = 0;  // of the node, in our order where its operator is one of others
  core::TensorId tensor;
  core::Rank rank;                           // another one than asked only through a collective
  std::string text;                          // "input 1 (network/deviation) is 0 at [7, 0]: 0/0 gives NaN"
  std::string advice;                        // "add an epsilon to the divisor"; may be ""
  std::optional<std::int64_t> element = {};  // of that input, where values are stored
  Wrong wrong = Wrong::kExtreme;             // what is wrong with the input itself
  /// "input 1 (network/deviation) is 0 at [7, 0]: 0/0 gives NaN; add an epsilon to the divisor"
  std::string sentence() const { return advice.empty() ? text : text + "; " + advice; }
};

/// What the rules of the operator say (rules.cpp: one table). nullopt: no rule explains this output with what
/// is recorded of the inputs.
std::optional<Blame> blameOperator(Source& source, core::Rank rank, core::Iteration iteration,
                                   const core::Node& node, core::TensorId output, Wrong wrong);

/// The same; where no rule explains it, the input that is wrong in the same way, else the one that is
/// furthest from its usual range. nullopt: every input is as usual, so that the output went wrong here.
std::optional<Blame> blameInput(Source& source, core::Rank rank, core::Iteration iteration,
                                const core::Node& node, core::TensorId output, Wrong wrong);

/// What is wrong with a tensor that a finding names, from its statistics.
Wrong wrongOf(const core::TensorStatistics& values);

}  // namespace msdbg::watch
