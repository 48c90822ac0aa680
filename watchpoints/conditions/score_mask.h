// The masks between the scores of an attention and its softmax, as constants and the batch make them. Used
// from one thread.
#pragma once

#include <vector>

#include "watchpoints/conditions/given_values.h"

namespace msdbg::watch {

/// Which places a place does not see: [places, places], row by row.
struct HiddenPlaces {
  explicit HiddenPlaces(std::int64_t length)
      : places(length), at(static_cast<std::size_t>(length * length)) {}
  /// How much of the pairs (i, i + step) is hidden.
  double share(std::int64_t step) const;

  std::int64_t places;
  std::vector<bool> at;
};

/// A mask of 0 and one value below it, too near to hide anything.
struct WeakMask {
  double lowest;
  core::NodeId made;   // the operator that makes its values, else the one that adds it
  HiddenPlaces meant;  // what it would hide
};

class ScoreMask {
 public:
  ScoreMask(const core::Graph& graph, GivenValues& given, std::int64_t places)
      : hidden(places), m_graph(graph), m_given(given) {}

  /// Goes back from what the softmax reads to the scores.
  void read(core::TensorId scores);

  HiddenPlaces hidden;
  core::NodeId
      made;  // the operator that the first mask begins with; invalid: there is none, or it is an input
  std::optional<WeakMask> weak;  // the last one

 private:
  /// The scores that the operator reads; invalid where they end.
  core::TensorId readNode(const core::Node& node);
  core::TensorId readWhere(const core::Node& node);
  void readSum(const core::Node& node, std::size_t input, const core::Tensor& mask, double sign);
  template <typename Hides>
  static bool hide(HiddenPlaces& into, const Hides& hides);

  const core::Graph& m_graph;
  GivenValues& m_given;
};

}  // namespace msdbg::watch
