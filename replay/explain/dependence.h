// How one element of an operator's output follows from elements of its inputs: one table, a row for each
// operator (dependence.cpp), the rows by family (rows_*.cpp). A row names every element that the one depends
// on; where the output is a sum, with what each contributes to it. Pure functions of the values they are
// given; thread-safe.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "core_engine/ops/op.h"

namespace msdbg::replay {

/// One element of one input.
struct Factor {
  std::size_t input = 0;
  std::int64_t element = 0;  // row-major
  double value = 0;
  core::Rank rank = {};  // whose input it is; invalid: that of the node
};

/// coefficient * the product of the factors. Without factors: a constant.
struct Term {
  double coefficient = 1;
  std::array<Factor, 3> storage = {};
  std::size_t count = 0;
  double contribution = 0;
  std::span<const Factor> factors() const { return {storage.data(), count}; }
};

enum class Relation {
  kCopy,      // the value of one element
  kSum,       // the sum of the terms; of one term a product
  kChoice,    // the value of one element, which others led to: a maximum, an index, a condition
  kFunction,  // a function of a few elements
  kMany,      // a function of many elements: a normalisation
};

/// Gets what a row says, in the order of the operator's own arithmetic.
class TermSink {
 public:
  virtual ~TermSink() = default;
  virtual void term(const Term& term) = 0;
  /// An element that the output depends on without being a factor: it is in a coefficient, was compared, or
  /// is an argument of the function. Of kFunction and kMany the first is the output's own place.
  virtual void read(const Factor& factor) = 0;
};

/// One element of a node's output, and all that its value follows from.
class Asked {
 public:
  struct Element {
    std::size_t input = 0;
    std::int64_t element = 0;
  };

  /// kUnsupported: no operator of ours, or one that does not fit these inputs; kUsage: no such element. The
  /// values outlive it. `node`: as it is on the rank, with the name that it has there.
  static core::Result<Asked> make(const core::Node& node, std::span<const core::Tensor* const> inputs,
                                  std::size_t slot, std::int64_t element, const core::RunState& state,
                                  TermSink& sink);

  const core::Node& node() const { return *m_node; }
  const core::Attributes& attributes() const { return m_node->attributes; }
  const core::RunState& state() const { return m_state; }
  std::size_t inputs() const { return m_inputs.size(); }
  const core::Tensor& input(std::size_t input) const { return *m_inputs[input]; }
  const core::Shape& shapeOf(std::size_t input) const { return m_inputs[input]->shape(); }
  double at(std::size_t input, std::int64_t element) const { return m_inputs[input]->at(element); }
  double scalar(std::size_t input) const { return at(input, 0); }
  /// Of the output that is asked for, and of another.
  const core::Shape& shape() const { return m_outputs[m_slot].shape; }
  const core::Shape& shapeOfOutput(std::size_t slot) const { return m_outputs[slot].shape; }
  std::size_t slot() const { return m_slot; }
  std::int64_t element() const { return m_element; }
  /// Which element of an input NumPy's broadcasting reads for this one.
  std::int64_t broadcast(std::size_t input) const;

  void add(double coefficient, std::initializer_list<Element> elements) const;
  /// A term whose contribution is no product: that of one element among others.
  void addValue(double contribution, Element element) const;
  void read(std::size_t input, std::int64_t element) const;

 private:
  Factor factor(const Element& e) const { return {e.input, e.element, at(e.input, e.element)}; }

  const core::Node* m_node = nullptr;
  std::vector<const core::Tensor*> m_inputs;
  std::vector<core::TensorType> m_outputs;
  std::size_t m_slot = 0;
  std::int64_t m_element = 0;
  core::RunState m_state;
  TermSink* m_sink = nullptr;
};

/// kUnavailable: a value that it needs to know the place is not a valid one (an index out of range).
using DependenceFn = core::Result<Relation> (*)(const Asked& asked);

struct Dependence {
  std::string_view opType;
  DependenceFn terms;
  bool acrossRanks = false;  // the terms of all ranks that take part make up the sum
};

std::span<const Dependence> dependences();                 // the only list
const Dependence* findDependence(const core::Node& node);  // nullptr: none, or an operator that is not ours

}  // namespace msdbg::replay
