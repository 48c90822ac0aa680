// The recommended set (shared/specs/watchpoints.md). What a condition skips in it is said in the condition's
// own file.
#include <cassert>

#include "watchpoints/condition.h"

namespace msdbg::watch {
namespace {

Watchpoint recommended(const ConditionDef& def, Severity severity, Parameters parameters = {}) {
  Watchpoint watchpoint;
  watchpoint.condition = &def;
  watchpoint.parameters = std::move(parameters);
  for (const ParameterSpec& spec : def.parameters)
    if (spec.defaultValue) watchpoint.parameters.emplace(spec.name, *spec.defaultValue);
  watchpoint.recommended = true;
  watchpoint.severity = severity;
  return watchpoint;
}

struct Row {
  std::string_view id;
  Severity severity;
  std::string_view parameter = {};
  double value = 0;
};

constexpr Row kRows[] = {
    {"run_failed", Severity::kFault},
    {"nonfinite_propagation", Severity::kFault},
    {"tensor_overflow", Severity::kFault},
    {"weight_not_changed", Severity::kFault},
    {"tensor_all_zero", Severity::kFault, "zero_percentage_ge", 100},
    {"gradient_vanishing", Severity::kFault, "abs_mean_lt", 1e-9},
    {"weight_initialization", Severity::kFault, "zero_percentage_ge", 100},
    {"weight_change_too_large", Severity::kFault, "abs_mean_update_ratio_gt", 1},
    {"dead_relu", Severity::kFault},
    {"rank_divergence", Severity::kFault},
    {"collective_mismatch", Severity::kFault},
    {"no_gradient", Severity::kFault},
    {"normalization_of_one", Severity::kFault},
    {"loss_input", Severity::kFault},
    {"activation_exploding", Severity::kFault},
    {"hyperparameter_range", Severity::kFault},
    {"same_batch", Severity::kFault},
    {"batch_content", Severity::kFault},
    {"target_range", Severity::kFault},
    {"target_leak", Severity::kFault},
    {"mask_reversed", Severity::kFault},
    {"multiplied_mask", Severity::kFault},
    {"right_answer", Severity::kFault},
    {"softmax_axis", Severity::kFault},
    {"evaluation_mode", Severity::kFault},
    {"growing_graph", Severity::kFault},
    {"gradients_dropped", Severity::kFault},
    {"optimizer_reset", Severity::kFault},
    {"result_unused", Severity::kFault},
    {"clipping_too_tight", Severity::kFault},
    {"saturated_start", Severity::kFault},
    {"rank_loss_gap", Severity::kFault},
    {"bounded_logits", Severity::kFault},
    {"reshape_mixes_axes", Severity::kFault},
    {"shifted_broadcast", Severity::kFault},
    {"cancellation", Severity::kFault},
    {"table_lookup", Severity::kFault},
    {"loss_diverging", Severity::kFault},
    {"statistic_spike", Severity::kHint},
    {"loss_not_decreasing", Severity::kHint},
    {"weight_change_too_small", Severity::kHint},
    {"frozen_at_random", Severity::kHint},
    {"unshared_weights", Severity::kHint},
    {"weight_overwritten", Severity::kHint},
    {"no_activation", Severity::kHint},
    {"activation_range", Severity::kHint},
};

}  // namespace

std::vector<Watchpoint> recommendedSet() {
  std::vector<Watchpoint> set;
  for (const Row& row : kRows) {
    const ConditionDef* def = findCondition(row.id);
    assert(def && "a row names a condition of the table");
    Parameters parameters;
    if (!row.parameter.empty()) parameters.emplace(row.parameter, row.value);
    set.push_back(recommended(*def, row.severity, std::move(parameters)));
  }
  return set;
}

}  // namespace msdbg::watch
