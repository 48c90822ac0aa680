// PlanChoices: which passes over the plan are on (`--passes`, MSDBG_PASSES), and which activations are
// computed again instead of kept (`--recompute`, MSDBG_RECOMPUTE). None of it changes a bit of any value: it
// is a choice of time and memory, or for finding out what a pass does. Values; thread-safe when const.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::core {

class PassSelection {
 public:
  PassSelection() = default;  // all of them

  /// `-memory,-dead_nodes` (all but these), `+memory` (also this, after all), `memory,identities` (these
  /// only), `none`, `all`; "" is all. Signs and bare names are not mixed. kUsage: a name that is no pass,
  /// with the nearest ones.
  static Result<PassSelection> parse(std::string_view text);

  bool on(std::string_view pass) const;
  /// What parse() reads back: "" for all, else the names that are off: "-dead_nodes,-memory".
  std::string text() const;

 private:
  std::vector<std::string> m_off;  // in the order of the pipeline
};

struct PlanChoices {
  PassSelection passes = {};
  std::vector<std::string> recompute = {};  // globs: scopes of the forward pass

  /// Of MSDBG_PASSES and MSDBG_RECOMPUTE (globs joined by ';'), where they are set.
  static Result<PlanChoices> fromEnvironment();
};

}  // namespace msdbg::core
