// The rows of the table of dependences, held against the reference kernels in float64 on the samples of every
// operator: sums reproduce the output, what is not named does not change it, what is named does.
#include "replay/explain/dependence.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "tests/ops/samples.h"
#include "tests/support/sampling.h"

using namespace msdbg;
using namespace msdbg::core;
using namespace msdbg::test;
using replay::Asked;
using replay::Factor;
using replay::Relation;
using replay::Term;

namespace {

using Place = std::pair<std::size_t, std::int64_t>;  // input, element

class Collected : public replay::TermSink {
 public:
  void term(const Term& term) override {
    terms.push_back(term);
    for (const Factor& f : term.factors()) named.insert({f.input, f.element});
  }
  void read(const Factor& factor) override { named.insert({factor.input, factor.element}); }

  double sum() const {
    double sum = 0;
    for (const Term& t : terms) sum += t.contribution;
    return sum;
  }
  double magnitude() const {
    double sum = 0;
    for (const Term& t : terms) sum += std::abs(t.contribution);
    return sum;
  }

  std::vector<Term> terms;
  std::set<Place> named;
};

/// One sample, and what its kernel makes of other values.
class Trial {
 public:
  explicit Trial(const Sample& sample)
      : m_op(sample.op), m_attributes(sample.attributes), m_sample(buildSample(sample, DType::Float64)) {
    m_outputs = runReference(m_sample, m_state);
  }

  std::size_t outputs() const { return m_outputs.size(); }
  const Tensor& output(std::size_t slot) const { return m_outputs[slot]; }
  const std::vector<Tensor>& values() const { return m_sample.values; }

  Result<Relation> ask(std::size_t slot, std::int64_t element, Collected& into) const {
    const Node& node = m_sample.graph->node(m_sample.node);
    std::vector<const Tensor*> inputs;
    for (const Tensor& value : m_sample.values) inputs.push_back(&value);
    const auto asked = Asked::make(node, inputs, slot, element, m_state, into);
    if (!asked.ok()) return asked.error();
    return replay::findDependence(node)->terms(*asked);
  }

  /// The element of the output where inputs are others; nullopt: the kernel refuses them.
  std::optional<double> with(const std::vector<Tensor>& inputs, std::size_t slot,
                             std::int64_t element) const {
    try {
      return callOp(m_op, inputs, m_attributes, m_state)[slot].at(element);
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
  }

 private:
  std::string m_op;
  Attributes m_attributes;
  SampleGraph m_sample;
  RunState m_state{.iteration = Iteration(3), .seed = 7};
  std::vector<Tensor> m_outputs;
};

void set(Tensor& tensor, std::int64_t at, double value) {
  visitComputed(tensor.dtype(), [&](auto zero) {
    tensor.data<decltype(zero)>()[static_cast<std::size_t>(at)] = static_cast<decltype(zero)>(value);
  });
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Copies in which each element that is not named has another value: NaN, or that of its neighbour, which is
/// a valid one for labels and indices.
std::vector<Tensor> othersChanged(const Trial& trial, const Collected& c, bool nan) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < trial.values().size(); ++i) {
    const Tensor& from = trial.values()[i];
    Tensor to = from.clone();
    for (std::int64_t e = 0; e < to.elements(); ++e) {
      if (c.named.contains({i, e})) continue;
      if (nan && isFloating(to.dtype()))
        set(to, e, std::nan(""));
      else if (!nan)
        set(to, e, from.at((e + 1) % to.elements()));
    }
    inputs.push_back(std::move(to));
  }
  return inputs;
}

/// Whether some other value of the element changes the output.
bool matters(const Trial& trial, const Place& place, std::size_t slot, std::int64_t element) {
  const auto& [input, at] = place;
  const Tensor& from = trial.values()[input];
  const double was = trial.output(slot).at(element), x = from.at(at);
  std::vector<double> others = {x + 1, x - 1, x + 100, x - 100, 0, 1, 2};
  if (isFloating(from.dtype())) others.insert(others.end(), {std::nan(""), -x, x + 0.37, x - 0.37});
  if (from.dtype() == DType::Bool) others = {1 - x};
  return std::ranges::any_of(others, [&](double other) {
    std::vector<Tensor> inputs = trial.values();
    inputs[input] = from.clone();
    set(inputs[input], at, other);
    const std::optional<double> now = trial.with(inputs, slot, element);
    return now && !same(*now, was);
  });
}

/// What no sample shows to matter, and why that is as it should be.
const std::set<std::pair<std::string, std::size_t>>& neverMatters() {
  static const std::set<std::pair<std::string, std::size_t>> kInputs = {
      {"Range", 1},  // the limit must be what attribute length says
  };
  return kInputs;
}

/// One of the elements of the input that are named.
std::optional<Place> drawnOf(const Collected& c, std::size_t input, std::mt19937_64& random) {
  const auto first = c.named.lower_bound({input, 0}), last = c.named.lower_bound({input + 1, 0});
  const auto count = static_cast<std::uint64_t>(std::distance(first, last));
  if (count == 0) return std::nullopt;
  return *std::next(first, static_cast<std::ptrdiff_t>(random() % count));
}

using Inputs = std::map<std::pair<std::string, std::size_t>, bool>;  // of (operator, input): it mattered

void checkElement(const Trial& trial, std::size_t slot, std::int64_t element, std::mt19937_64& random,
                  const std::string& op, Inputs& seen) {
  Collected c;
  const Result<Relation> relation = trial.ask(slot, element, c);
  INFO((relation.ok() ? "" : relation.error().message()));
  REQUIRE(relation.ok());
  const double y = trial.output(slot).at(element);
  const bool terms = *relation != Relation::kFunction && *relation != Relation::kMany;
  if (terms) CHECK(std::abs(c.sum() - y) <= 1e-12 * c.magnitude());
  if (!terms) CHECK(c.terms.empty());
  for (const bool nan : {false, true}) {
    const auto now = trial.with(othersChanged(trial, c, nan), slot, element);
    if (nan) REQUIRE(now);
    if (now) CHECK(same(*now, y));
  }
  for (std::size_t input = 0; input < trial.values().size(); ++input)
    if (const auto place = drawnOf(c, input, random)) {
      bool& mattered = seen[{op, input}];
      mattered = mattered || matters(trial, *place, slot, element);
    }
  if (*relation != Relation::kSum || c.terms.empty()) return;
  const Term& one = c.terms[random() % c.terms.size()];
  for (const Factor& f : one.factors()) {
    CAPTURE(f.input, f.element);
    if (one.coefficient != 0) CHECK(matters(trial, {f.input, f.element}, slot, element));
  }
}

/// Draws until it is seen that the input of the operator matters: a mask hides it in many places.
bool mattersSomewhere(const std::string& op, std::size_t input, std::mt19937_64& random) {
  for (int round = 0; round < 300; ++round)
    for (const Sample& sample : samples()) {
      if (sample.op != op || sample.inputs.size() <= input) continue;
      const Trial trial(sample);
      const std::size_t slot = random() % trial.outputs();
      const auto elements = static_cast<std::uint64_t>(trial.output(slot).elements());
      if (elements == 0 || elements > 1000) continue;
      const auto element = static_cast<std::int64_t>(random() % elements);
      Collected c;
      if (!trial.ask(slot, element, c).ok()) continue;
      const auto place = drawnOf(c, input, random);
      if (place && matters(trial, *place, slot, element)) return true;
    }
  return false;
}

}  // namespace

TEST_CASE("Every operator has a row, and every row is an operator") {
  std::set<std::string_view> rows;
  for (const replay::Dependence& row : replay::dependences()) {
    CAPTURE(row.opType);
    CHECK(findOp(row.opType));
    CHECK(rows.insert(row.opType).second);
  }
  for (const OpDef& op : allOps()) {
    CAPTURE(op.name);
    CHECK(rows.contains(op.name));
  }
}

TEST_CASE("An output follows from the elements that its row names, and from no others") {
  std::mt19937_64 random(drawnSeed("elements of outputs"));
  Inputs seen;
  for (const Sample& sample : samples()) {
    CAPTURE(sample.op, sample.what);
    Trial trial(sample);
    for (std::size_t slot = 0; slot < trial.outputs(); ++slot) {
      const std::int64_t elements = trial.output(slot).elements();
      for (int draw = 0; draw < (testAll() ? 20 : 3) && elements > 0; ++draw) {
        const auto element = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
        CAPTURE(slot, element);
        checkElement(trial, slot, element, random, sample.op, seen);
      }
    }
  }
  for (const auto& [input, mattered] : seen) {
    CAPTURE(input.first, input.second);
    CHECK((mattered || mattersSomewhere(input.first, input.second, random)) !=
          neverMatters().contains(input));
  }
}

TEST_CASE("A row says where a value of an input has no meaning, instead of reading beside it") {
  Collected c;
  Node node;
  node.name = "network/Gather-op1";
  node.opType = "Gather";
  const Tensor data = tensorOf({3}, {1, 2, 3}), indices = labelsOf({7});
  const std::vector<const Tensor*> inputs = {&data, &indices};
  const auto asked = Asked::make(node, inputs, 0, 0, {}, c).orThrow();
  const auto relation = replay::findDependence(node)->terms(asked);
  REQUIRE_FALSE(relation.ok());
  CHECK(relation.error().code() == ErrorCode::kUnavailable);
  CHECK_FALSE(Asked::make(node, inputs, 0, 5, {}, c).ok());
  CHECK_FALSE(Asked::make(node, inputs, 1, 0, {}, c).ok());
  CHECK_FALSE(Asked::make(node, {inputs.data(), 1}, 0, 0, {}, c).ok());
}
