// Operators that pick, move and repeat elements.
#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::Attributes;
const std::int64_t kZero = 0, kOne = 1, kTwo = 2, kMinusOne = -1;

Attributes with(Attributes attributes, const char* name, core::AttributeValue value) {
  attributes[name] = std::move(value);
  return attributes;
}

std::vector<Sample> slices() {
  const Attributes some{
      {"starts", Ints{1, -1}}, {"ends", Ints{4, -9}}, {"axes", Ints{0, -1}}, {"steps", Ints{2, -3}}};
  const Attributes first{{"starts", Ints{0}}, {"ends", Ints{2}}};
  return {
      {"Slice", "steps forwards and backwards", {{{5, 3, 8}}}, some},
      {"Slice", "the first rows", {{{4, 70}}}, first},
      {"Slice",
       "integers, beyond the ends",
       {{{7}, Fill::kIntegers}},
       {{"starts", Ints{-100}}, {"ends", Ints{100}}}},
      {"Slice", "nothing left", {{{4, 3}}}, {{"starts", Ints{3}}, {"ends", Ints{1}}}, false},
      {"SliceGrad", "steps forwards and backwards", {{{2, 3, 3}}}, with(some, "shape", Ints{5, 3, 8})},
      {"SliceGrad", "the first rows", {{{2, 70}}}, with(first, "shape", Ints{4, 70})},
      {"Concat", "three along the last axis", {{{2, 3}}, {{2, 1}}, {{2, 4}}}, {{"axis", kMinusOne}}},
      {"Concat", "one alone", {{{2, 3}}}, {{"axis", kZero}}},
      {"Concat",
       "integers",
       {{{70, 2, 3}, Fill::kIntegers}, {{70, 5, 3}, Fill::kIntegers}},
       {{"axis", kOne}}},
      {"Split", "sizes", {{{4, 7}}}, {{"axis", kOne}, {"split", Ints{2, 1, 4}}}},
      {"Split", "an empty part", {{{4, 7}}}, {{"axis", kOne}, {"split", Ints{2, 0, 5}}}, false},
      {"Split", "parts that do not come out even", {{{7, 2}}}, {{"num_outputs", std::int64_t{3}}}},
      {"Split", "integers", {{{6}, Fill::kIntegers}}, {{"num_outputs", kTwo}}},
  };
}

std::vector<Sample> gathers() {
  const Attributes middle{{"axis", kOne}};
  return {
      {"Gather", "rows of an embedding", {{{3, 70}}, {{4, 5}, Fill::kIndices}}},
      {"Gather", "a middle axis", {{{2, 3, 5}}, {{7}, Fill::kIndices}}, middle},
      {"Gather", "a scalar index into integers", {{{3, 2}, Fill::kIntegers}, {{}, Fill::kIndices}}},
      {"GatherGrad",
       "rows of an embedding",
       {{{4, 5, 70}}, {{4, 5}, Fill::kIndices}},
       {{"shape", Ints{3, 70}}}},
      {"GatherGrad",
       "a middle axis",
       {{{2, 7, 5}}, {{7}, Fill::kIndices}},
       with(middle, "shape", Ints{2, 3, 5})},
      {"GatherGrad", "no index", {{{0, 5}}, {{0}, Fill::kIndices}}, {{"shape", Ints{3, 5}}}},
  };
}

std::vector<Sample> dimensions() {
  return {
      {"Squeeze", "all ones", {{{1, 3, 1, 5}}}},
      {"Squeeze", "one of them", {{{1, 3, 1}}}, {{"axes", Ints{-1}}}},
      {"Unsqueeze", "both ends", {{{3, 5}}}, {{"axes", Ints{0, -1}}}},
      {"Unsqueeze", "a scalar", {{{}}}, {{"axes", Ints{0}}}},
      {"Expand", "in all ways", {{{3, 1}}}, {{"shape", Ints{2, 1, 6}}}},
      {"Expand", "a scalar of integers", {{{}, Fill::kIntegers}}, {{"shape", Ints{70, 100}}}},
      {"Trilu", "upper", {{{2, 4, 6}}}, {{"k", kOne}}},
      {"Trilu", "lower, far above", {{{5, 3}}}, {{"upper", kZero}, {"k", std::int64_t{1} << 62}}},
      {"Trilu", "lower, below", {{{70, 70}}}, {{"upper", kZero}, {"k", kMinusOne}}, false},
      {"Range",
       "floating-point numbers",
       {{{}, Fill::kRange}, {{}, Fill::kRange}, {{}, Fill::kRange}},
       {{"length", std::int64_t{5}}}},
      {"Range",
       "the same once more",
       {{{}, Fill::kRange}, {{}, Fill::kRange}, {{}, Fill::kRange}},
       {{"length", std::int64_t{5}}}},
  };
}

std::vector<Sample> pads() {
  const Attributes rim{{"pads", Ints{0, 2, 1, -1, 0, 3}}, {"value", 1.5}};
  std::vector<Sample> list = {
      {"Pad", "a constant, and one less", {{{2, 3, 4}}}, rim},
      {"Pad", "integers", {{{3}, Fill::kIntegers}}, {{"pads", Ints{2, 1}}, {"value", 7.0}}},
  };
  for (const std::string mode : {"reflect", "edge", "wrap"}) {
    const Attributes around{{"pads", Ints{1, 2, 0, 5}}, {"mode", mode}};
    list.push_back({"Pad", mode, {{{3, 4}}}, around});
    list.push_back({"PadGrad", mode, {{{4, 11}}}, with(around, "shape", Ints{3, 4})});
  }
  return list;
}

std::vector<Sample> largest() {
  const Attributes axes{{"axes", Ints{0, -1}}, {"keepdims", kZero}};
  return {
      {"ArgMax", "first axis", {{{5, 3}, Fill::kApart}}},
      {"ArgMax",
       "ties, the last of them",
       {{{4, 30}, Fill::kHalves}},
       {{"axis", kOne}, {"keepdims", kZero}, {"select_last_index", kOne}}},
      {"ArgMax", "integers", {{{70, 9}, Fill::kIntegers}}, {{"axis", kMinusOne}}},
      {"ReduceMax", "everything", {{{3, 5}, Fill::kApart}}, {{"keepdims", kZero}}},
      {"ReduceMax", "inner and outer", {{{2, 3, 5}, Fill::kApart}}, axes},
      {"ReduceMax", "integers", {{{4, 9}, Fill::kIntegers}}, {{"axes", Ints{1}}}},
      {"ReduceMin", "everything", {{{3, 5}, Fill::kApart}}, {{"keepdims", kZero}}},
      {"ReduceMin", "inner and outer", {{{2, 3, 5}, Fill::kApart}}, axes},
      {"ReduceMin", "integers", {{{4, 9}, Fill::kIntegers}}, {{"axes", Ints{1}}}},
      {"ReduceMinGrad",
       "some equal, some found nowhere",
       {{{4, 1}}, {{4, 9}, Fill::kHalves}, {{4, 1}, Fill::kHalves}},
       {{"axes", Ints{1}}}},
      {"ReduceMinGrad", "inner and outer", {{{3}}, {{2, 3, 5}, Fill::kApart}, {{3}, Fill::kReduced}}, axes},
      {"OneHot", "indices of both signs", {{{7}, Fill::kIndices}}, {{"depth", std::int64_t{3}}}},
      {"OneHot",
       "in front, some outside, as int64",
       {{{4, 5}, Fill::kIntegers}},
       {{"depth", std::int64_t{2}}, {"axis", kZero}, {"on", 5.0}, {"off", -1.0}, {"to", std::int64_t{7}}}},
      {"OneHot",
       "enough for two threads",
       {{{40, 50}, Fill::kIndices}},
       {{"depth", std::int64_t{3}}, {"axis", std::int64_t{1}}}},
      {"ReduceMaxGrad",
       "ties",
       {{{1, 5}}, {{6, 5}, Fill::kHalves}, {{1, 5}, Fill::kReduced}},
       {{"axes", Ints{0}}}},
      {"ReduceMaxGrad", "inner and outer", {{{3}}, {{2, 3, 5}, Fill::kApart}, {{3}, Fill::kReduced}}, axes},
      {"ReduceSumSquare", "everything", {{{3, 50}}}, {{"keepdims", kZero}}},
      {"ReduceSumSquare", "inner and outer", {{{2, 3, 5}}}, axes},
  };
}

}  // namespace

std::vector<Sample> rearrangingSamples() {
  std::vector<Sample> list;
  for (auto part : {slices, gathers, dimensions, pads, largest})
    for (Sample& s : part()) list.push_back(std::move(s));
  return list;
}

}  // namespace msdbg::test
