// What PyTorch has besides operators: the gradient that an optimizer reads (autograd), and modules as the
// recorder of level `modules` shows them (torch.nn, by class name). A module with parameters is more than one
// operator of ours.
#include "watchpoints/meaning/fits.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

std::span<const Meaning> autograd() {
  static const std::vector<Meaning> rows = {
      {"AccumulateGrad", "Identity", {}, {}, nullptr, hasElementsOfOutput}};
  return rows;
}

std::span<const Meaning> modules() {
  static const std::vector<Meaning> rows = {
      {"ELU", "Elu"},
      {"GELU", "Gelu"},
      {"Hardsigmoid", "HardSigmoid", {}, {}, nullptr, nullptr, {{"alpha", 1.0 / 6}}},
      {"Hardswish", "HardSwish"},
      {"Identity", "Identity"},
      {"LeakyReLU", "LeakyRelu"},
      {"ReLU", "Relu"},
      {"Sigmoid", "Sigmoid"},
      {"Softplus", "Softplus"},
      {"Tanh", "Tanh"},
  };
  return rows;
}

}  // namespace

DomainMeanings autogradMeanings() { return {"autograd", autograd, true}; }
DomainMeanings torchModuleMeanings() { return {"torch.nn", modules, true}; }

}  // namespace msdbg::watch
