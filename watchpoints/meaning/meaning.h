// What operators of other frameworks are in terms of ours. Conditions and the rules of blame know our
// operators only; a graph with operators of others is read by them through inOurTerms(), so that what is said
// of Div is said of `aten.div` and MindSpore's `RealDiv` too. Pure functions; thread-safe.
//
// A recorder may fold views (PyTorch's does): a node then reads the tensor that its operand is a view of, in
// that one's shape. Conditions ask for shapes and axes, so there a node is ours only where our operator makes
// its output's shape of the shapes that it reads. Rules of blame ask what values do: asBlamed().
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
  /// Attributes that only shapes tell (which of two factors is transposed), and whether the shapes are what
  /// our operator needs; nullptr: those that it infers. `ours` is translated but for this.
  bool (*fits)(const core::Graph& graph, const core::Node& theirs, core::Node& ours) = nullptr;
  /// Attributes that are the same in all of theirs.
  core::Attributes fixed = {};
  /// Near enough for the rules of blame (log2 goes wrong where Log does), and for nothing else.
  bool onlyBlame = false;
  /// Which of their outputs is our first, second, …, of a node that has as many: what is written in place is
  /// recorded first. Empty: in the same order.
  std::vector<int> results = {};
};

/// One a domain: aten.cpp, c10d.cpp, mindspore.cpp; the list is in meaning.cpp.
struct DomainMeanings {
  std::string_view domain;
  std::span<const Meaning> (*meanings)();
  bool foldsViews = false;  // what a node reads may have another shape than its operand
};
DomainMeanings atenMeanings();
DomainMeanings autogradMeanings();     // torch.cpp
DomainMeanings torchModuleMeanings();  // torch.cpp
DomainMeanings c10dMeanings();
DomainMeanings mindsporeMeanings();

/// nullptr: not known; nothing but the structure is then judged.
const Meaning* meaningOf(const core::Node& node);

/// Whether a node is of another domain than ours.
bool hasForeignNodes(const core::Graph& graph);

/// -Inf, and +Inf, that is meant, says the recorder of such a node: the program gave that number, as masks
/// and the beginnings of minima are made, or it is made of such a value. Kept in our terms as it is.
inline constexpr std::string_view kMeantInfinity = "meant_infinity";
inline constexpr std::string_view kMeantPositiveInfinity = "meant_positive_infinity";

/// What the recorder found in values that it does not keep (dump/python/msdbg/_facts.py): attributes of the
/// node. Kept in our terms as they are.
namespace fact {
inline constexpr std::string_view kNextOf =
    "next_of";  // a loss: its classes are that embedding's next tokens
inline constexpr std::string_view kAfterNextOf = "after_next_of";  // they are those two places on
inline constexpr std::string_view kNextAcross =
    "next_across";  // they are the next tokens, in the order of columns where the embedding reads rows
inline constexpr std::string_view kPadding = "padding";  // a loss, an embedding: the token that fills rows up
inline constexpr std::string_view kCountsPadding = "counts_padding";     // its share of what the loss counts
inline constexpr std::string_view kLooksUpPadding = "looks_up_padding";  // of what an embedding is given
inline constexpr std::string_view kHoldsBlank = "holds_blank";    // a CTC loss: the blank is among its labels
inline constexpr std::string_view kSameAs = "same_as";            // they are those tokens themselves
inline constexpr std::string_view kHidesNext = "hides_next";      // a mask: share of places i that do not see
inline constexpr std::string_view kHidesBefore = "hides_before";  // i + 1, i - 1,
inline constexpr std::string_view kHidesLater = "hides_later";    // i + 2
inline constexpr std::string_view kLetsThrough = "lets_through";  // a mask: the one token that is not hidden,
inline constexpr std::string_view kTokensOf = "tokens_of";        // of those that this embedding reads
inline constexpr std::string_view kInnerStrides = "inner_strides";  // a product: of the axis that it sums, in
                                                                    // elements, of both factors
inline constexpr std::string_view kAxisStride =
    "axis_stride";  // a log_softmax: elements between those it normalises
inline constexpr std::string_view kNormalisedElsewhere =
    "normalised_elsewhere";  // a loss: what it reads was normalised along another axis than the classes'
inline constexpr std::string_view kNewParameter =
    "new_parameter";  // which of its inputs is a Parameter that was made just now
inline constexpr std::string_view kMeasure =
    "measure";  // a loss of which no operator is recorded: "nll_loss", "ctc_loss", "binary_cross_entropy"
inline constexpr std::string_view kSoftmaxOf =
    "softmax_of";  // of such a loss: our name of the operator whose
inline constexpr std::string_view kSigmoidOf = "sigmoid_of";  // values it takes the softmax, or sigmoid, of
inline constexpr std::string_view kBroadcast =
    "broadcast";  // what is predicted and its target were broadcast
                  // to [n, n]; "column": predicted was [n, 1], the
inline constexpr std::string_view kBroadcastByHand = "broadcast_by_hand";  // target [n]; "row": the reverse
inline constexpr std::array kAll = {
    kNextOf,     kAfterNextOf,  kNextAcross,          kPadding,        kCountsPadding, kLooksUpPadding,
    kHoldsBlank, kSameAs,       kHidesNext,           kHidesBefore,    kHidesLater,    kLetsThrough,
    kTokensOf,   kInnerStrides, kNormalisedElsewhere, kNewParameter,   kAxisStride,    kMeasure,
    kSoftmaxOf,  kSigmoidOf,    kBroadcast,           kBroadcastByHand};
}  // namespace fact

/// Of a node of others, whose attributes nobody has verified. The fallback: it is not there, or of another
/// type.
template <typename T>
T foreignAttribute(const core::Node& node, std::string_view name, T fallback) {
  const auto found = node.attributes.find(name);
  const T* value = found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  return value ? *value : std::move(fallback);
}
/// The axis of a softmax, ours or PyTorch's, as it is given: -1 is the last one.
inline std::int64_t softmaxAxis(const core::Node& node) {
  return foreignAttribute<std::int64_t>(node, node.attributes.contains("axis") ? "axis" : "dim", -1);
}

/// The same graph, same ids, in which foreign nodes of a known meaning have our operator, inputs in our order
/// and our attributes; the others are called by domain and type ("aten.frobnicate"), which no name of ours
/// is, and keep what they read and their attributes. Nodes keep their domain: there is no kernel of ours for
/// them. Onnx's names are ours.
core::Graph inOurTerms(const core::Graph& graph);
/// A node by itself, whatever the shapes: what operator it is.
core::Node inOurTerms(const core::Node& node);
/// A node with inputs and attributes of its own on a rank, as the union's node of the same id was translated.
core::Node inOurTermsAs(const core::Node& translated, core::Node node);
/// A node of a translated graph as the rules of blame take it: ours where its values go wrong as ours do,
/// whatever the shapes. Itself where nothing is known of it.
core::Node asBlamed(core::Node node);

}  // namespace msdbg::watch
