#include "core_engine/train/parameters_file.h"

#include <algorithm>
#include <map>

#include "core_engine/base/text.h"
#include "core_engine/train/safetensors.h"

namespace msdbg::core {
namespace {

/// A state that forward nodes write: part of the model, not of the optimizer.
bool isRunningValue(const Graph& graph, const TensorInfo& info) {
  return info.role == TensorRole::kOptimizerState &&
         std::ranges::any_of(graph.tensors(), [&](const TensorInfo& next) {
           return next.updateOf == info.id && graph.node(next.producer).phase == Phase::kForward;
         });
}

/// By name, in the order in which the model was built.
std::vector<const TensorInfo*> modelTensors(const Graph& graph) {
  std::vector<const TensorInfo*> found;
  for (const TensorInfo& info : graph.tensors())
    if (info.role == TensorRole::kParameter || isRunningValue(graph, info)) found.push_back(&info);
  return found;
}

std::string typeText(DType dtype, const Shape& shape) { return std::string(dtypeName(dtype)) + shape.text(); }

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + ": " + what);
}

using Wanted = std::map<std::string, const TensorInfo*>;

Wanted wantedOf(const Graph& graph, const std::filesystem::path& path, const std::string& glob) {
  Wanted wanted;
  std::vector<std::string> names;
  for (const TensorInfo* info : modelTensors(graph)) {
    names.push_back(info->name);
    if (globMatch(glob, info->name)) wanted[info->name] = info;
  }
  if (wanted.empty()) fail(path, "no parameter's name fits '" + glob + "'" + didYouMean(glob, names));
  return wanted;
}

void checkFits(const std::filesystem::path& path, const TensorInfo& info, const Tensor& given) {
  if (given.dtype() == info.dtype && given.shape() == info.shape) return;
  fail(path, info.name + " is " + typeText(given.dtype(), given.shape()) + ", but the model's is " +
                 typeText(info.dtype, info.shape));
}

/// The tensors of the file that the options ask for; all there, of the right type, and no more.
std::map<std::string, Tensor> chosen(const Graph& graph, const std::filesystem::path& path,
                                     const LoadOptions& options) {
  const Wanted wanted = wantedOf(graph, path, options.only);
  std::vector<std::string> names;
  std::map<std::string, Tensor> found;
  for (auto& [name, tensor] : readSafetensors(path).orThrow()) {
    names.push_back(name);
    if (!globMatch(options.only, name)) continue;
    const auto mine = wanted.find(name);
    if (mine == wanted.end())
      fail(path, "it has " + name + ", which the model has not; choose with LoadOptions::only");
    checkFits(path, *mine->second, tensor);
    found[name] = std::move(tensor);
  }
  for (const auto& [name, info] : wanted)
    if (!found.contains(name)) fail(path, "it has no " + name + didYouMean(name, names));
  return found;
}

}  // namespace

void saveParameters(const Trainer& trainer, const std::filesystem::path& path) {
  if (trainer.rank() != Rank{0}) return;
  std::map<std::string, Tensor> values;
  for (auto& [name, tensor] : trainer.state().tensors) values[name] = std::move(tensor);
  Arrays tensors;
  for (const TensorInfo* info : modelTensors(trainer.graph()))
    tensors.emplace_back(info->name, values.at(info->fullName()));
  const Status written = writeSafetensors(path, tensors, {{"format", "msdbg"}});
  if (written.ok()) return;
  std::error_code ignored;
  std::filesystem::remove(path.string() + ".new", ignored);  // an unfinished file only takes up a full disk
  throw std::runtime_error(written.error().message());
}

void loadParameters(Trainer& trainer, const std::filesystem::path& path, const LoadOptions& options) {
  const std::map<std::string, Tensor> loaded = chosen(trainer.graph(), path, options);
  TrainingState state = trainer.state();
  for (auto& [name, tensor] : state.tensors) {
    const std::string plain = name.substr(0, name.rfind(':'));
    if (const auto found = loaded.find(plain); found != loaded.end()) tensor = found->second;
  }
  trainer.restore(state);
}

}  // namespace msdbg::core
