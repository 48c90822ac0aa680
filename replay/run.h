// Run: a recorded run behind one interface, whoever wrote it (msdbg's own format now; foreign dumps later).
// It is the watchpoints' Source and what every command asks. Not thread-safe; one replay thread owns it.
#pragma once

#include <filesystem>
#include <memory>

#include "dump/reader/run_reader.h"
#include "watchpoints/source.h"

namespace msdbg::replay {

class Run : public watch::Source {
 public:
  static core::Result<std::unique_ptr<Run>> open(const std::filesystem::path& folder);
  /// The newest *.msdbg in `folder`; kMissing says where it looked.
  static core::Result<std::filesystem::path> newest(const std::filesystem::path& folder);

  virtual dump::RunReader& reader() = 0;  // sizes, damage, how it ended
  /// Takes in what was recorded since: RunReader::refresh(). Graph and ids stay as they are.
  virtual core::Result<dump::RunGrowth> refresh() = 0;
};

/// The recorded iteration nearest to this one (the earlier of two) in which the rank has the tensor's value.
std::optional<core::Iteration> nearestValue(Run& run, core::Rank rank, core::Iteration iteration,
                                            core::TensorId tensor);

/// A name given on the command line -> tensors / nodes: full name, alias, unique suffix (at a '/' border), or
/// glob; a bare node name means slot 0, a glob every slot. kNotFound: nearest names; kUsage: ambiguous suffix
/// (candidates listed).
core::Result<std::vector<core::TensorId>> resolveTensors(const core::Graph& graph, const std::string& name);
core::Result<core::TensorId> resolveTensor(const core::Graph& graph, const std::string& name);  // exactly one
core::Result<std::vector<core::NodeId>> resolveNodes(const core::Graph& graph, const std::string& name);

}  // namespace msdbg::replay
