#include <algorithm>
#include <array>

#include "core_engine/models/model_list_internal.h"

namespace msdbg::core {

std::span<const ModelInfo> builtinModels() {
  static const std::array kModels = {mlpModel(), lenet5Model(), alexnetModel(), resnet20Model(),
                                     gptModel()};  // the only list
  return kModels;
}

const ModelInfo* findModel(std::string_view name) {
  const auto models = builtinModels();
  const auto found = std::ranges::find(models, name, &ModelInfo::name);
  return found == models.end() ? nullptr : &*found;
}

void applyModelOptions(Graph& graph, const ModelOptions& options, bool hasDropout) {
  if (options.batch < 1) throw BuildError("a model needs a batch of 1 row or more");
  if (options.dtype != graph.floatingDType())
    throw BuildError("the model is to be " + std::string(dtypeName(options.dtype)) + " but its graph is " +
                     std::string(dtypeName(graph.floatingDType())));
  if (!(options.dropout >= 0 && options.dropout < 1)) throw BuildError("dropout is a probability in [0, 1)");
  if (options.dropout > 0 && !hasDropout) throw BuildError("this model has no dropout");
  graph.mixedPrecision(options.precision);
}

}  // namespace msdbg::core
