// Functions of single elements, comparisons and choices.
#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::Attributes;

/// Two samples of Y = f(X) and two of its gradient kernel, if it has one.
void addUnary(std::vector<Sample>& list, const std::string& op, Fill x, const Attributes& attributes,
              bool hasGrad) {
  list.push_back({op, "odd sizes", {{{3, 7, 5}, x}}, attributes});
  list.push_back({op, "one element", {{{}, x}}, attributes});
  list.push_back({op, "enough for two threads", {{{70, 1001}, x}}, attributes, false});
  if (!hasGrad) return;
  list.push_back({op + "Grad", "odd sizes", {{{3, 7, 5}}, {{3, 7, 5}, x}}, attributes});
  list.push_back({op + "Grad", "enough for two threads", {{{70, 1001}}, {{70, 1001}, x}}, attributes});
}

std::vector<Sample> functionsOfOne() {
  std::vector<Sample> list;
  addUnary(list, "Exp", Fill::kNormal, {}, false);
  addUnary(list, "Log", Fill::kPositive, {}, false);
  addUnary(list, "Sqrt", Fill::kPositive, {}, false);
  addUnary(list, "Neg", Fill::kNormal, {}, false);
  addUnary(list, "Abs", Fill::kApart, {}, true);
  addUnary(list, "Sin", Fill::kNormal, {}, false);
  addUnary(list, "Cos", Fill::kNormal, {}, false);
  addUnary(list, "Softplus", Fill::kNormal, {}, false);
  list.push_back({"Softplus", "far from 0", {{{3, 31}, Fill::kApart}}});
  list.push_back({"AbsGrad", "many zeros", {{{9, 37}}, {{9, 37}, Fill::kHalves}}});
  addUnary(list, "Erf", Fill::kNormal, {}, true);
  addUnary(list, "Gelu", Fill::kNormal, {}, true);
  addUnary(list, "Gelu", Fill::kNormal, {{"approximate", std::string("tanh")}}, true);
  addUnary(list, "LeakyRelu", Fill::kApart, {{"alpha", 0.1}}, true);
  addUnary(list, "Elu", Fill::kApart, {{"alpha", 1.5}}, true);
  addUnary(list, "HardSigmoid", Fill::kApart, {{"alpha", 0.3}, {"beta", 0.4}}, true);
  addUnary(list, "HardSwish", Fill::kApart, {}, true);
  addUnary(list, "Clip", Fill::kApart, {{"min", -0.5}, {"max", 0.75}}, true);
  list.push_back({"Clip", "without ends", {{{5}}}});
  list.push_back({"ClipGrad", "an end", {{{5}}, {{5}, Fill::kApart}}, {{"max", 0.0}}});
  return list;
}

std::vector<Sample> pairs() {
  std::vector<Sample> list;
  for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    list.push_back({op, "many equal", {{{9, 37}, Fill::kHalves}, {{9, 37}, Fill::kHalves}}});
    list.push_back({op, "both repeat", {{{2, 1, 9}, Fill::kHalves}, {{4, 1}, Fill::kHalves}}});
    list.push_back({op, "integers and a scalar", {{{70, 100}, Fill::kIntegers}, {{}, Fill::kIntegers}}});
  }
  for (const char* op : {"And", "Or", "Xor"}) {
    list.push_back({op, "equal shapes", {{{9, 37}, Fill::kMask}, {{9, 37}, Fill::kMask}}});
    list.push_back({op, "both repeat", {{{2, 1, 9}, Fill::kMask}, {{4, 1}, Fill::kMask}}});
    list.push_back({op, "enough for two threads", {{{70, 100}, Fill::kMask}, {{}, Fill::kMask}}});
  }
  list.push_back({"Not", "a mask", {{{9, 37}, Fill::kMask}}});
  list.push_back({"Not", "enough for two threads", {{{70, 100}, Fill::kMask}}});
  for (const char* op : {"Max", "Min"}) {
    list.push_back({op, "three that repeat", {{{2, 1, 3}}, {{4, 1}}, {{3}}}});
    list.push_back({op, "one alone", {{{5}}}});
    list.push_back({op, "two scalars", {{{}}, {{}}}});
    list.push_back({op, "integers, many equal", {{{7, 9}, Fill::kIntegers}, {{7, 9}, Fill::kIntegers}}});
  }
  list.push_back({"Pow", "equal shapes", {{{3, 37}, Fill::kPositive}, {{3, 37}}}});
  list.push_back({"Pow", "a scalar exponent", {{{4, 5}, Fill::kPositive}, {{}, Fill::kPositive}}});
  list.push_back({"Where", "all repeat", {{{2, 1, 5}, Fill::kMask}, {{4, 1}}, {{}}}});
  list.push_back({"Where", "equal shapes", {{{70, 100}, Fill::kMask}, {{70, 100}}, {{70, 100}}}, {}, false});
  list.push_back({"Where", "integers", {{{6}, Fill::kMask}, {{6}, Fill::kIntegers}, {{6}, Fill::kIntegers}}});
  return list;
}

}  // namespace

std::vector<Sample> elementwiseSamples() {
  std::vector<Sample> list = functionsOfOne();
  for (Sample& s : pairs()) list.push_back(std::move(s));
  return list;
}

}  // namespace msdbg::test
