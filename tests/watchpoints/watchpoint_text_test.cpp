#include <catch2/catch.hpp>
#include <set>

#include "watchpoints/condition.h"

using namespace msdbg::core;
using namespace msdbg::watch;

namespace {

std::string errorOf(const std::string& text, ErrorCode code) {
  const Result<Watchpoint> parsed = parseWatchpoint(text);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code() == code);
  return parsed.error().message();
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Every condition of the list is complete, and ids are unique") {
  std::set<std::string_view> ids;
  for (const ConditionDef& def : allConditions()) {
    CAPTURE(def.id);
    CHECK(ids.insert(def.id).second);
    CHECK_FALSE(def.title.empty());
    CHECK_FALSE(def.doc.empty());
    CHECK_FALSE(def.advice.empty());
    CHECK(def.make != nullptr);
    CHECK(findCondition(def.id) == &def);
    for (const ParameterSpec& spec : def.parameters) CHECK_FALSE(spec.doc.empty());
  }
  CHECK(allConditions().size() == builtinConditions().size());
  CHECK(ids.size() == 47);
}

TEST_CASE("A text that is longer than any watchpoint is refused in a short line") {
  const auto parsed = parseWatchpoint(std::string(300000, 'x'));
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code() == msdbg::core::ErrorCode::kUsage);
  CHECK(parsed.error().message().size() < 200);
}

TEST_CASE("A watchpoint takes given parameters and fills in defaults") {
  const auto parsed = parseWatchpoint("weight_change_too_large:abs_mean_update_ratio_gt=0.5");
  REQUIRE(parsed.ok());
  CHECK(parsed->condition->id == "weight_change_too_large");
  CHECK(parsed->parameters == Parameters{{"abs_mean_update_ratio_gt", 0.5}, {"epsilon", 1e-9}});
  CHECK(parsed->text() == "weight_change_too_large:abs_mean_update_ratio_gt=0.5");
  CHECK(parseWatchpoint("tensor_overflow")->text() == "tensor_overflow");
  CHECK(parseWatchpoint("gradient_vanishing:abs_mean_lt=1e-9,max_lt=-2")->text() ==
        "gradient_vanishing:abs_mean_lt=1e-09,max_lt=-2");
}

TEST_CASE("Parameters are numbers, a name or a list of names, and are read back as they were") {
  const auto listed = parseWatchpoint("gradient_vanishing:abs_mean_lt=1e-3,tensors=conv*/weight|fc/bias");
  REQUIRE(listed.ok());
  CHECK(listOf(listed->parameters, "tensors") == std::vector<std::string>{"conv*/weight", "fc/bias"});
  CHECK(numberOf(listed->parameters, "abs_mean_lt") == 1e-3);
  CHECK(listed->text() == "gradient_vanishing:abs_mean_lt=0.001,tensors=conv*/weight|fc/bias");
  CHECK(parseWatchpoint(listed->text())->parameters == listed->parameters);
  CHECK(textOf(parseWatchpoint("loss_diverging:tensor=val_loss")->parameters, "tensor") == "val_loss");
  CHECK(parseWatchpoint("loss_diverging:tensor=val_loss")->text() == "loss_diverging:tensor=val_loss");
  CHECK(mentions(errorOf("gradient_vanishing:tensors=conv1", ErrorCode::kUsage), "abs_mean_lt, max_lt"));
  CHECK(mentions(errorOf("tensor_overflow:tensors=a||b", ErrorCode::kUsage), "lacks a name"));
  CHECK(mentions(errorOf("tensor_overflow:tensors=", ErrorCode::kUsage), "lacks a name"));
  CHECK(mentions(errorOf("tensor_overflow:tensors", ErrorCode::kUsage), "tensors=NAME|…"));
  CHECK(mentions(errorOf("loss_diverging:tensor=a|b", ErrorCode::kUsage), "not one name"));
}

TEST_CASE("A watchpoint of the recommended set is read back as it was") {
  for (const Watchpoint& watchpoint : recommendedSet()) {
    const auto parsed = parseWatchpoint(watchpoint.argument());
    REQUIRE(parsed.ok());
    CHECK(parsed->recommended);
    CHECK(parsed->condition == watchpoint.condition);
    CHECK(parsed->parameters == watchpoint.parameters);
    CHECK(parsed->severity == watchpoint.severity);
  }
  CHECK(parseWatchpoint("gradient_vanishing:max_lt=-2")->argument() == "gradient_vanishing:max_lt=-2");
}

TEST_CASE("An unknown condition or parameter names the nearest ones") {
  CHECK(mentions(errorOf("tensor_overflw", ErrorCode::kNotFound), "tensor_overflow"));
  CHECK(mentions(errorOf("dead_relu:treshold_layer=3", ErrorCode::kNotFound), "threshold_layer"));
  CHECK(mentions(errorOf("tensor_overflow:x=1", ErrorCode::kNotFound), "it takes tensors"));
}

TEST_CASE("A value out of range names the range") {
  CHECK(mentions(errorOf("tensor_all_zero:zero_percentage_ge=101", ErrorCode::kUsage), "[0, 100]"));
  CHECK(mentions(errorOf("weight_not_changed:rtol=-1", ErrorCode::kUsage), "[0, inf)"));
  CHECK(mentions(errorOf("weight_not_changed:rtol=inf", ErrorCode::kUsage), "[0, inf)"));
  CHECK(mentions(errorOf("gradient_vanishing:max_lt=nan", ErrorCode::kUsage), "finite"));
  CHECK(mentions(errorOf("activation_range:max_min_lt=0", ErrorCode::kUsage), "(0, inf)"));
  CHECK(parseWatchpoint("activation_range:max_min_gt=0").ok());
}

TEST_CASE("What is missing or contradictory is a usage error that says so") {
  CHECK(mentions(errorOf("gradient_vanishing", ErrorCode::kUsage), "abs_mean_lt, max_lt, min_lt, mean_lt"));
  CHECK(mentions(errorOf("dead_relu:threshold_layer", ErrorCode::kUsage), "threshold_layer=NUMBER"));
  CHECK(mentions(errorOf("dead_relu:threshold_layer=5x", ErrorCode::kUsage), "'5x' is not a number"));
  CHECK(mentions(errorOf("dead_relu:threshold_layer=5,threshold_layer=6", ErrorCode::kUsage), "twice"));
  CHECK(mentions(errorOf("activation_range:range_percentage_lt=5", ErrorCode::kUsage),
                 "need range_start_inclusive"));
  CHECK(
      mentions(errorOf("activation_range:range_start_inclusive=2,range_end_inclusive=1,range_percentage_lt=5",
                       ErrorCode::kUsage),
               "range_start_inclusive is above"));
  CHECK(mentions(errorOf("activation_range:range_start_inclusive=0,range_end_inclusive=1", ErrorCode::kUsage),
                 "needs one of"));
  CHECK(mentions(errorOf("loss_not_decreasing:num_steps=0.5", ErrorCode::kUsage), "whole number"));
}

TEST_CASE("The recommended set has the faults and hints of the specification") {
  std::set<std::string> faults, hints;
  for (const Watchpoint& watchpoint : recommendedSet()) {
    CHECK(watchpoint.recommended);
    (watchpoint.severity == Severity::kFault ? faults : hints).insert(watchpoint.text());
  }
  CHECK(faults == std::set<std::string>{"activation_exploding",
                                        "batch_content",
                                        "bounded_logits",
                                        "cancellation",
                                        "clipping_too_tight",
                                        "collective_mismatch",
                                        "dead_relu",
                                        "evaluation_mode",
                                        "gradient_vanishing:abs_mean_lt=1e-09",
                                        "gradients_dropped",
                                        "growing_graph",
                                        "hyperparameter_range",
                                        "loss_diverging",
                                        "loss_input",
                                        "mask_reversed",
                                        "multiplied_mask",
                                        "right_answer",
                                        "no_gradient",
                                        "nonfinite_propagation",
                                        "normalization_of_one",
                                        "optimizer_reset",
                                        "rank_divergence",
                                        "rank_loss_gap",
                                        "reshape_mixes_axes",
                                        "result_unused",
                                        "run_failed",
                                        "same_batch",
                                        "saturated_start",
                                        "shifted_broadcast",
                                        "softmax_axis",
                                        "table_lookup",
                                        "target_leak",
                                        "target_range",
                                        "tensor_all_zero",
                                        "tensor_overflow",
                                        "weight_change_too_large:abs_mean_update_ratio_gt=1",
                                        "weight_initialization",
                                        "weight_not_changed"});
  CHECK(hints == std::set<std::string>{"activation_range", "frozen_at_random", "loss_not_decreasing",
                                       "no_activation", "statistic_spike", "unshared_weights",
                                       "weight_change_too_small", "weight_overwritten"});
}
