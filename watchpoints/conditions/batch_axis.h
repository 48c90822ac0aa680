// Which axis of a tensor is the batch: axis 0 of what the batch brings, followed through the operators of the
// forward pass. Used from one thread.
#pragma once

#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct BatchPlace {
  enum class Kind {
    kNone,  // the batch has no part in it
    kAt,    // samples lie along `axis`
    kGone,  // every element is of all samples: `by` reduced the batch, or laid it among what a layer adds up
    kUnknown,  // samples meet each other, or an operator that is not known to keep them apart
  };
  Kind kind = Kind::kUnknown;
  std::size_t axis = 0;
  std::int64_t inner = 1;  // elements of the axis that belong to one sample before the next one begins
  core::NodeId by = {};    // what reduced the batch, or the last one that moved it; invalid: nothing moved it

  bool samePlace(const BatchPlace& other) const { return axis == other.axis && inner == other.inner; }
};

class BatchAxes {
 public:
  explicit BatchAxes(const core::Graph& graph);
  /// Samples in a batch; 0: what the batch brings does not agree on it, so that nothing is known.
  std::int64_t size() const { return m_size; }
  const BatchPlace& of(core::TensorId tensor) const { return m_places[tensor.index()]; }

 private:
  BatchPlace placeOf(const core::Node& node, core::TensorId output) const;
  BatchPlace reduced(const core::Node& node) const;
  BatchPlace transposed(const core::Node& node) const;
  BatchPlace reshaped(const core::Node& node, core::TensorId output) const;
  BatchPlace multiplied(const core::Node& node, core::TensorId output) const;
  BatchPlace looked(const core::Node& node) const;
  BatchPlace elementwise(const core::Node& node, core::TensorId output) const;
  BatchPlace kept(const core::Node& node, core::TensorId output) const;

  const core::Graph& m_graph;
  std::int64_t m_size = 0;
  std::vector<BatchPlace> m_places;  // by tensor
};

}  // namespace msdbg::watch
