// Scopes within scopes: the inner ones are laid out first, their size is that of a box in the outer one. A
// scope whose open part did not change is not laid out again (NestedLayout keeps the results), so opening one
// scope costs that scope and those around it. Values; NestedLayout is used by one thread at a time.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph_view/layout/layout.h"

namespace msdbg::graphview {

struct Block {
  std::int64_t key = 0;      // names it; the same key always has the same boxes and links
  Size size;                 // folded: of its box
  std::vector<Block> inner;  // open: its boxes, and the problem without their sizes
  LayoutProblem links;
  bool open = false, bare = false;  // bare: without border and header (the root)
};

struct Placement {
  Size size;                                            // of the whole block
  LayoutResult layout;                                  // within the block, header and margins included
  std::vector<std::shared_ptr<const Placement>> inner;  // by box; nullptr where it is folded
};

inline constexpr double kHeaderHeight = 34, kScopeMargin = 22;

class NestedLayout {
 public:
  /// nullptr when cancelled.
  std::shared_ptr<const Placement> place(const Block& block, const core::CancelToken& cancel);
  std::int64_t laidOut() const { return m_laidOut; }  // scopes, so far; for tests

 private:
  std::map<std::string, std::shared_ptr<const Placement>> m_kept;
  std::list<std::string> m_age;
  std::int64_t m_laidOut = 0;
};

}  // namespace msdbg::graphview
