// Which ranks of a program of PyTorch hold the same parameters. No plan says it, so their values do.
#pragma once

#include <vector>

#include "watchpoints/source.h"

namespace msdbg::watch {

struct Replicas {
  std::vector<core::TensorId> parameters;  // that are equal on all ranks, or within groups of them
  /// Those groups, of one size, each ascending: a mesh of shards and replicas. Empty: all ranks.
  std::vector<std::vector<core::Rank>> groups;
};

/// Those that begin with the same bits of all parameters. Of shards some differ, though those of a constant
/// (a norm's ones) do not. It is all ranks, or groups of one size: a mesh. Else nobody knows, and there are
/// none: a rank alone is one that began wrong rather than one that is no replica.
Replicas replicasOf(Source& source);

}  // namespace msdbg::watch
