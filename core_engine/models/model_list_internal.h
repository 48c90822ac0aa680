// The models' rows and what their build functions share.
#pragma once

#include "core_engine/models/model.h"

namespace msdbg::core {

ModelInfo mlpModel();
ModelInfo lenet5Model();
ModelInfo alexnetModel();
ModelInfo resnet20Model();
ModelInfo gptModel();

/// Throws BuildError: no rows, another dtype than the graph's, or a dropout that is not in [0, 1) or not this
/// model's. Sizes are checked by the models that have a choice of them.
void applyModelOptions(Graph& graph, const ModelOptions& options, bool hasDropout);

}  // namespace msdbg::core
