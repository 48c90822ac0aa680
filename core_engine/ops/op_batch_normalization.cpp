// BatchNormalization (Ioffe and Szegedy 2015): every channel brought to mean 0 and variance 1, then scaled
// and shifted. In training by the batch's own mean and variance, which are also mixed into the running ones;
// otherwise, and whenever the model is evaluated, by the running ones.
#include <cmath>

#include "core_engine/ops/batch_norm.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "BatchNormalization";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  const InputNames kNames = {"X", "scale", "B", "input_mean", "input_var"};
  MSDBG_TRY(checkFloatingInputs(kName, inputs, kNames));
  MSDBG_ASSIGN(const Shape channels, channelShape(kName, inputs[0]));
  for (std::size_t i = 1; i < 5; ++i) MSDBG_TRY(checkShape(kName, kNames.begin()[i], inputs[i], channels));
  if (!batchNormTrains(attributes)) return std::vector{inputs[0]};
  return std::vector{inputs[0], inputs[3], inputs[4], inputs[3], inputs[4]};
}

/// 1 / sqrt(input_var + epsilon), for a node that normalises by the running values.
Value inverseDeviation(GradientBuilder& b) {
  const Value variance = b.input(4);
  const double epsilon = floatAttribute(b.forward().attributes, "epsilon", 1e-5);
  const Value sum = b.apply1("Add", {variance, b.constant(epsilon, variance.dtype())});
  return b.apply1("Div", {b.constant(1, variance.dtype()), b.apply1("Sqrt", {sum})});
}

Gradients gradient(GradientBuilder& b) {
  for (std::size_t i = 1; i < 5; ++i) b.refuseGradientOf(i);
  Gradients gradients(5);
  if (!b.outputGradient(0)) return gradients;
  const std::int64_t training = batchNormTrains(b.forward().attributes) ? 1 : 0;
  const Value mean = training ? b.output(3) : b.input(3);
  const Value deviation = training ? b.output(4) : inverseDeviation(b);
  const std::vector<Value> made =
      b.apply("BatchNormalizationGrad", {*b.outputGradient(0), b.input(0), b.input(1), mean, deviation},
              {{"training_mode", training}});
  for (std::size_t i = 0; i < 3; ++i) gradients[i] = made[i];
  return gradients;
}

struct Moments {
  double mean = 0, variance = 0;
};

/// Two passes: the variance from differences to the mean.
template <typename T>
Moments momentsOf(const ChannelPlanes& p, const T* x, std::int64_t channel) {
  Moments m;
  const auto count = static_cast<double>(p.count());
  forPlanes(p, channel, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + p.plane; ++i) m.mean += x[i];
  });
  m.mean /= count;
  forPlanes(p, channel, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + p.plane; ++i) m.variance += (x[i] - m.mean) * (x[i] - m.mean);
  });
  m.variance /= count;
  return m;
}

/// Running and saved values of a channel. In evaluation the running ones stay as they are.
template <typename T>
void storeMoments(const KernelArgs& args, std::int64_t c, const Moments& used, double epsilon) {
  const double momentum = floatAttribute(args.node.attributes, "momentum", 0.9);
  const auto in = [&](std::size_t i) { return static_cast<double>(args.inputs[i]->data<T>()[c]); };
  const auto out = [&](std::size_t i) -> T& { return args.outputs[i]->data<T>()[c]; };
  const bool mixes = args.state.training;
  out(1) =
      mixes ? static_cast<T>(in(3) * momentum + used.mean * (1 - momentum)) : args.inputs[3]->data<T>()[c];
  out(2) = mixes ? static_cast<T>(in(4) * momentum + used.variance * (1 - momentum))
                 : args.inputs[4]->data<T>()[c];
  out(3) = static_cast<T>(used.mean);
  out(4) = static_cast<T>(1 / std::sqrt(used.variance + epsilon));
}

template <typename T>
void run(const KernelArgs& args) {
  const ChannelPlanes p = channelPlanes(args.inputs[0]->shape());
  const bool training = batchNormTrains(args.node.attributes);
  const double epsilon = floatAttribute(args.node.attributes, "epsilon", 1e-5);
  const T* x = args.inputs[0]->data<T>().data();
  T* y = args.outputs[0]->data<T>().data();
  const auto in = [&](std::size_t i, std::int64_t c) {
    return static_cast<double>(args.inputs[i]->data<T>()[c]);
  };
  parallelFor(p.channels, args.state.threads, 2, [&](std::int64_t c) {
    const Moments used = training && args.state.training ? momentsOf(p, x, c) : Moments{in(3, c), in(4, c)};
    const double factor = in(1, c) / std::sqrt(used.variance + epsilon), shift = in(2, c);
    forPlanes(p, c, [&](std::int64_t at) {
      for (std::int64_t i = at; i < at + p.plane; ++i)
        y[i] = static_cast<T>((x[i] - used.mean) * factor + shift);
    });
    if (training) storeMoments<T>(args, c, used, epsilon);
  });
}

Status reference(const KernelArgs& args) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

}  // namespace

OpDef batchNormalizationOp() {
  return {
      .name = kName,
      .doc =
          "Y = (X - mean) / sqrt(var + epsilon) * scale + B per channel; training_mode: mean and "
          "(population) variance of the batch, running = momentum * input + (1 - momentum) * batch. Outside "
          "training the running ones are used. ONNX BatchNormalization-15; saved_mean and saved_inv_std "
          "are for the gradient",
      .minInputs = 5,
      .maxInputs = 5,
      .inputNames = {"X", "scale", "B", "input_mean", "input_var"},
      .outputNames = {"Y", "running_mean", "running_var", "saved_mean", "saved_inv_std"},
      .attributes = {{"epsilon", "float", "1e-05", "added to the variance"},
                     {"momentum", "float", "0.9", "share of the running values that stays"},
                     {"training_mode", "int", "0", "1: normalise by the batch, and write outputs 1 to 4"}},
      .infer = infer,
      .gradient = gradient,
      .reference = reference};
}

}  // namespace msdbg::core
