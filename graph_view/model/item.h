// Item: one thing of the picture of a graph: a scope, a node, an input that is drawn by itself, or the place
// in a scope's border where edges enter or leave it. A node or input that many read is drawn again beside its
// readers: such a copy is an item of its own and has the kind and index of the original. A small value.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "core_engine/base/ids.h"

namespace msdbg::graphview {

using ScopeId = core::Id<struct ScopeTag>;  // index in FoldedGraph::scopes(); 0 is the root

struct Item {
  enum class Kind : std::uint8_t { kNone, kScope, kNode, kInput, kEntry, kExit };
  Kind kind = Kind::kNone;
  std::int64_t index = -1;
  std::int64_t copy = -1;  // copies: which one; -1: no copy

  static Item of(ScopeId id) { return {Kind::kScope, id.value, -1}; }
  static Item of(core::NodeId id) { return {Kind::kNode, id.value, -1}; }
  static Item of(core::TensorId id) { return {Kind::kInput, id.value, -1}; }
  static Item entry() { return {Kind::kEntry, 0, -1}; }
  static Item exit() { return {Kind::kExit, 0, -1}; }

  /// The copy that stands beside a reader, a scope or node of the same scope.
  Item beside(Item reader) const { return {kind, index, 2 * reader.index + (reader.isScope() ? 1 : 0)}; }
  Item original() const { return {kind, index, -1}; }

  bool isCopy() const { return copy >= 0; }
  bool valid() const { return kind != Kind::kNone; }
  bool isScope() const { return kind == Kind::kScope; }
  bool isNode() const { return kind == Kind::kNode; }
  bool isInput() const { return kind == Kind::kInput; }
  ScopeId scope() const { return isScope() ? ScopeId(index) : ScopeId(); }
  core::NodeId node() const { return isNode() ? core::NodeId(index) : core::NodeId(); }
  core::TensorId input() const { return isInput() ? core::TensorId(index) : core::TensorId(); }
  auto operator<=>(const Item&) const = default;
};

}  // namespace msdbg::graphview

template <>
struct std::hash<msdbg::graphview::Item> {
  std::size_t operator()(const msdbg::graphview::Item& item) const noexcept {
    const auto original = static_cast<std::uint64_t>(item.index * 8 + static_cast<int>(item.kind));
    return std::hash<std::uint64_t>{}(original +
                                      0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(item.copy + 1));
  }
};
