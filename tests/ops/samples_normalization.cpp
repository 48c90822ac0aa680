// Normalisations, average pools and the optimizers' updates.
#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::Attributes;
const std::int64_t kOne = 1;

Sample batchNorm(const std::string& what, const core::Shape& x, const Attributes& attributes) {
  const core::Shape c{x[1]};
  Sample s{"BatchNormalization", what, {{x}, {c}, {c}, {c}, {c, Fill::kPositive}}, attributes};
  s.gradientInputs = 3;
  s.gradientOutputs = 1;
  return s;
}

Sample batchNormGrad(const std::string& what, const core::Shape& x, std::int64_t training) {
  const core::Shape c{x[1]};
  return {"BatchNormalizationGrad",
          what,
          {{x}, {x}, {c}, {c}, {c, Fill::kPositive}},
          {{"training_mode", training}}};
}

Sample layerNorm(const std::string& what, std::vector<SampleInput> inputs,
                 const Attributes& attributes = {}) {
  Sample s{"LayerNormalization", what, std::move(inputs), attributes};
  s.gradientOutputs = 1;
  return s;
}

Sample groupNorm(const std::string& what, const core::Shape& x, std::int64_t groups, double epsilon) {
  const core::Shape c{x[1]};
  Sample s{"GroupNormalization", what, {{x}, {c}, {c}}, {{"num_groups", groups}, {"epsilon", epsilon}}};
  s.gradientOutputs = 1;
  return s;
}

Sample groupNormGrad(const std::string& what, const core::Shape& x, std::int64_t groups) {
  const core::Shape c{x[1]}, g{x[0], groups};
  return {
      "GroupNormalizationGrad", what, {{x}, {x}, {c}, {g}, {g, Fill::kPositive}}, {{"num_groups", groups}}};
}

std::vector<Sample> normalizations() {
  return {
      groupNorm("images in two groups", {3, 6, 5, 7}, 2, 1e-5),
      groupNorm("a group per channel, lines", {4, 5, 9}, 5, 0.125),
      groupNorm("one group, no planes", {20, 18}, 1, 1e-5),
      groupNormGrad("images in two groups", {3, 6, 5, 7}, 2),
      groupNormGrad("a group per channel, lines", {4, 5, 9}, 5),
      batchNorm("training", {4, 3, 5, 7}, {{"training_mode", kOne}}),
      batchNorm("training, no planes", {20, 19},
                {{"training_mode", kOne}, {"momentum", 0.75}, {"epsilon", 0.125}}),
      batchNorm("inference", {2, 5, 3, 3}, {}),
      batchNormGrad("training", {4, 3, 5, 7}, 1),
      batchNormGrad("constants", {3, 17, 2}, 0),
      layerNorm("rows", {{{7, 33}}, {{33}}, {{33}}}),
      layerNorm("two dimensions, no B", {{{4, 3, 5}}, {{3, 5}}}, {{"axis", kOne}, {"epsilon", 0.01}}),
      layerNorm("enough for two threads", {{{70, 500}}, {{500}}, {{500}}}),
      {"LayerNormalizationGrad", "rows", {{{7, 33}}, {{7, 33}}, {{33}}, {{7, 1}}, {{7, 1}, Fill::kPositive}}},
      {"LayerNormalizationGrad",
       "two dimensions",
       {{{4, 3, 5}}, {{4, 3, 5}}, {{3, 5}}, {{4, 1, 1}}, {{4, 1, 1}, Fill::kPositive}},
       {{"axis", kOne}}},
      {"LayerNormalizationGrad",
       "enough for two threads",
       {{{70, 500}}, {{70, 500}}, {{500}}, {{70, 1}}, {{70, 1}, Fill::kPositive}}},
  };
}

std::vector<Sample> averages() {
  const Attributes padded{{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 0, 1}}};
  Attributes counted = padded, grad = padded, countedGrad;
  counted["count_include_pad"] = kOne;
  counted["ceil_mode"] = kOne;
  counted["dilations"] = Ints{1, 2};
  grad["shape"] = Ints{2, 3, 6, 5};
  countedGrad = counted;
  countedGrad["shape"] = Ints{2, 3, 6, 5};
  return {
      {"AveragePool", "padding left out", {{{2, 3, 6, 5}}}, padded},
      {"AveragePool", "padding counted, dilated, rounded up", {{{2, 3, 6, 5}}}, counted},
      {"AveragePoolGrad", "padding left out", {{{2, 3, 3, 6}}}, grad},
      {"AveragePoolGrad", "padding counted, dilated, rounded up", {{{2, 3, 3, 5}}}, countedGrad},
      {"GlobalAveragePool", "images", {{{2, 3, 5, 7}}}},
      {"GlobalAveragePool", "lines", {{{3, 2, 40}}}},
  };
}

std::vector<Sample> updates() {
  const core::Shape p{70, 101};
  const std::vector<SampleInput> inputs{
      {p}, {p}, {{}, Fill::kPositive}, {p}, {p, Fill::kPositive}, {{}, Fill::kLabels}};
  return {
      {"AdamUpdate", "as Adam", inputs, {{"weight_decay", 0.01}}},
      {"AdamUpdate",
       "as AdamW",
       inputs,
       {{"weight_decay", 0.1}, {"decoupled", kOne}, {"beta1", 0.8}, {"epsilon", 1e-4}}},
      {"AdamUpdate",
       "a rate of its own",
       inputs,
       {{"weight_decay", 0.1}, {"decoupled", kOne}, {"lr_factor", 0.25}}},
      {"AccumulateGradient",
       "the first or a later one",
       {{p}, {p}, {{}, Fill::kLabels}},
       {{"steps", std::int64_t{4}}}},
      {"AccumulateGradient", "one element", {{{}}, {{}}, {{}, Fill::kLabels}}, {{"steps", kOne}}},
      {"StepUpdate", "round and round", {{{}, Fill::kLabels}}, {{"modulo", std::int64_t{2}}}},
      {"StepUpdate", "a count", {{{}, Fill::kLabels}}},
      {"StepUpdate", "another count", {{{}, Fill::kIntegers}}},
  };
}

}  // namespace

std::vector<Sample> normalizationSamples() {
  std::vector<Sample> list;
  for (auto part : {normalizations, averages, updates})
    for (Sample& s : part()) list.push_back(std::move(s));
  return list;
}

}  // namespace msdbg::test
