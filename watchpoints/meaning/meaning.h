// What operators of other frameworks are in terms of ours. Conditions and the rules of blame know our
// operators only; a graph with operators of others is read by them through inOurTerms(), so that what is said
// of Div is said of `aten.div` and MindSpore's `RealDiv` too. Pure functions; thread-safe.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct Meaning {
  std::string_view type;  // theirs, without an overload's name: "div" of "div.Tensor"
  std::string_view op;    // ours
  /// Which of their inputs is our first, second, …; empty: in the same order.
  std::vector<int> operands = {};
  /// Attributes that we call otherwise: {theirs, ours}. Those of equal name and type are taken as they are.
  std::vector<std::pair<std::string_view, std::string_view>> attributes = {};
  /// Whether the node is what the row says, whatever its attributes may change; nullptr: always.
  bool (*applies)(const core::Node& node) = nullptr;
};

/// One a domain: aten.cpp, c10d.cpp, mindspore.cpp; the list is in meaning.cpp.
struct DomainMeanings {
  std::string_view domain;
  std::span<const Meaning> (*meanings)();
};
DomainMeanings atenMeanings();
DomainMeanings c10dMeanings();
DomainMeanings mindsporeMeanings();

/// nullptr: not known; nothing but the structure is then judged.
const Meaning* meaningOf(const core::Node& node);

/// Whether a node is of another domain than ours.
bool hasForeignNodes(const core::Graph& graph);

/// The same graph, same ids, in which foreign nodes of a known meaning have our operator, inputs in our order
/// and our attributes; the others are called by domain and type ("aten.frobnicate"), which no name of ours
/// is. Nodes keep their domain: there is no kernel of ours for them. Onnx's names are ours.
core::Graph inOurTerms(const core::Graph& graph);
/// A node of it.
core::Node inOurTerms(const core::Node& node);

}  // namespace msdbg::watch
