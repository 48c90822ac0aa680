// Which tensors a person is offered beside the one shown: those of the selected node. Pure; of any thread.
#pragma once

#include <QString>
#include <vector>

#include "app/presenters/cursor.h"

namespace msdbg::app {

struct TensorChoice {
  core::TensorId tensor;
  QString label;    // "weight · parameter"
  QString tooltip;  // full name and type
};

/// The shown tensor, then outputs, inputs and parameters of the node, then their gradients. No tensor twice.
std::vector<TensorChoice> tensorChoices(const core::Graph& graph, const Place& place);
/// Names for completion: every tensor's name and alias.
QStringList tensorNames(const core::Graph& graph);
/// "conv1/weight", "grad(conv1/weight)"
QString shortTensorName(const core::TensorInfo& tensor);

}  // namespace msdbg::app
