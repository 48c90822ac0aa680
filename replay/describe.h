// How tensors, places in the source and counts are written for people, the same in every face. Pure
// functions; thread-safe.
#pragma once

#include <span>
#include <string>

#include "core_engine/base/iteration_set.h"
#include "core_engine/graph/graph.h"

namespace msdbg::core {
class GraphPart;
}

namespace msdbg::replay {

/// "alexnet.cpp:52"; "" without a frame.
std::string placeOf(const core::Frame* frame);
/// "alexnet.cpp:52   x = conv(x, {.out = 64})"
std::string sourceLine(const core::Frame* frame);
/// The frames of a tensor: its own for sources, else its producer's.
/// Of a source that nobody says the line of: those of its first reader.
std::span<const core::FrameId> framesOf(const core::Graph& graph, core::TensorId tensor);
/// Of a node; of a gradient of which a recorder knows no more than the loss that it is of, those of that: of
/// backward().
std::span<const core::FrameId> framesOf(const core::Graph& graph, const core::Node& node);
/// Name as a command takes it: no ":0".
std::string tensorName(const core::TensorInfo& tensor);
/// "float32 [64, 3, 32, 32]"; "?" is a size that is not the same in all iterations.
std::string typeText(const core::TensorInfo& tensor);
/// Where the tensor lay ("cpu", "cuda:0") on the rank whose part of the graph this is (nullptr: any rank's);
/// "" where the run does not tell.
std::string deviceOf(const core::Graph& graph, const core::GraphPart* part, core::TensorId tensor);

/// 1234567 -> "1,234,567"
std::string groupedNumber(std::int64_t value);
/// "1 tensor", "3 tensors"
std::string counted(std::int64_t count, const std::string& noun);
/// "iteration 7", "iterations 2-4,9"
std::string numbered(const std::string& noun, const core::IterationSet& numbers);

}  // namespace msdbg::replay
