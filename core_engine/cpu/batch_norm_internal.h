// What the kernels of BatchNormalization share: the numbers of a channel, whatever the layout of its
// elements.
#pragma once

#include <cmath>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/norm_bodies.h"
#include "core_engine/ops/batch_norm.h"

namespace msdbg::core::cpu {

struct Moments {
  double mean = 0, variance = 0;
};

struct BatchNormSettings {
  ChannelPlanes planes;
  double epsilon, momentum;
  bool training;
};
inline BatchNormSettings batchNormSettings(const Attributes& a, const Shape& x) {
  return {channelPlanes(x), floatAttribute(a, "epsilon", 1e-5), floatAttribute(a, "momentum", 0.9),
          batchNormTrains(a)};
}

inline double number(const Tensor& t, std::int64_t channel) {
  return static_cast<double>(t.data<float>()[static_cast<std::size_t>(channel)]);
}
inline void store(Tensor& t, std::int64_t channel, double value) {
  t.data<float>()[static_cast<std::size_t>(channel)] = static_cast<float>(value);
}

/// As the reference does: outside training the running values stay as they are.
inline void storeMoments(const KernelArgs& args, const BatchNormSettings& s, std::int64_t c,
                         const Moments& used) {
  const double share = args.state.training ? s.momentum : 1;
  const double mean = number(*args.inputs[3], c), variance = number(*args.inputs[4], c);
  store(*args.outputs[1], c, share == 1 ? mean : mean * share + used.mean * (1 - share));
  store(*args.outputs[2], c, share == 1 ? variance : variance * share + used.variance * (1 - share));
  store(*args.outputs[3], c, used.mean);
  store(*args.outputs[4], c, 1 / std::sqrt(used.variance + s.epsilon));
}

inline bool usesBatch(const KernelArgs& args, const BatchNormSettings& s) {
  return s.training && args.state.training;
}
inline Moments runningMoments(const KernelArgs& args, std::int64_t c) {
  return {number(*args.inputs[3], c), number(*args.inputs[4], c)};
}
inline NormalSettings normalSettings(const KernelArgs& args, const BatchNormSettings& s, std::int64_t c,
                                     const Moments& used) {
  const double factor = number(*args.inputs[1], c) / std::sqrt(used.variance + s.epsilon);
  return {static_cast<float>(used.mean), static_cast<float>(factor),
          args.inputs[2]->data<float>()[static_cast<std::size_t>(c)]};
}

/// Of sum(dY) and sum(dY * (X - mean)): stores dscale and dB, gives what dX is made with.
inline NormalGradSettings storeGradients(const KernelArgs& args, const BatchNormSettings& s, std::int64_t c,
                                         double sum, double product) {
  const double scale = number(*args.inputs[2], c), mean = number(*args.inputs[3], c),
               inverse = number(*args.inputs[4], c);
  product *= inverse;
  store(*args.outputs[1], c, product);
  store(*args.outputs[2], c, sum);
  const double share = s.training ? 1 / static_cast<double>(s.planes.count()) : 0;
  return {static_cast<float>(scale * inverse), static_cast<float>(mean),
          share == 0 ? 0.0f : static_cast<float>(sum * share),
          share == 0 ? 0.0f : static_cast<float>(product * inverse * share)};
}

// batch_norm_channels16.cpp: the same bits for activations in channels of 16
Backend::Answer batchNormGradChannels16(const CompileRequest& request);

}  // namespace msdbg::core::cpu
