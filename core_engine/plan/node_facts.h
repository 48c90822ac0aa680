// What passes may assume of a node. Pure functions; thread-safe.
#pragma once

#include "core_engine/plan/plan.h"

namespace msdbg::core {

/// Whether the node's outputs are, within one iteration, decided by its operator, attributes and inputs. Not:
/// Dropout (its random numbers are keyed by its name), collectives, what writes a parameter's or state's next
/// value, unknown operators.
bool isFunctionOfInputs(const Graph& graph, const Node& node);
/// The same over all iterations, in training and evaluation. Not: BatchNormalization either.
bool isAlwaysFunctionOfInputs(const Graph& graph, const Node& node);
bool writesNextValue(const Graph& graph, const Node& node);
std::string nodesText(std::size_t count);  // "1 node", "12 nodes"
bool isPinned(const PlanOptions& options, NodeId node);

}  // namespace msdbg::core
