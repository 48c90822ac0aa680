// What passes ask the kernels of a backend. The answers depend on graph and CPU only; thread-safe.
#pragma once

#include <optional>

#include "core_engine/graph/layout.h"
#include "core_engine/graph/tiles.h"

namespace msdbg::core {

class KernelFacts {
 public:
  virtual ~KernelFacts() = default;
  /// Which layouts its kernel of the node takes beside row-major.
  virtual LayoutPorts layouts(const Graph&, const Node&) const { return {}; }
  /// How its kernel of the node works in parts, where values lie so; nullopt: it does not.
  virtual std::optional<TilePorts> tiles(const Graph&, const Node&, const Layouts&) const { return {}; }
};

}  // namespace msdbg::core
