// Normalisations: each output depends on all elements that it is normalised with. Their gradients are sums of
// the gradients that flow in, with coefficients made of the rest.
#include <cmath>

#include "core_engine/ops/batch_norm.h"
#include "core_engine/ops/group_norm.h"
#include "core_engine/ops/layer_norm.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using core::ChannelPlanes;
using core::NormalGroups;
using core::NormalRows;

namespace {

/// f(element) for every one of a channel.
template <typename F>
void forChannel(const ChannelPlanes& p, std::int64_t channel, const F& f) {
  core::forPlanes(p, channel, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + p.plane; ++i) f(i);
  });
}

/// The row, or group, that an element is normalised with, and the element of scale and shift that is its own.
struct Group {
  std::int64_t begin = 0, length = 1, number = 0;
  std::int64_t scales = 1, plane = 1, firstScale = 0;
  std::int64_t scale(std::int64_t element) const { return firstScale + (element - begin) / plane % scales; }
};

/// Y, Mean or InvStdDev of a group: slots 0, 1 and 2.
RowResult groupRow(const Asked& asked, const Group& g) {
  if (asked.slot() == 1) {
    for (std::int64_t i = 0; i < g.length; ++i)
      asked.add(1 / static_cast<double>(g.length), {{0, g.begin + i}});
    return Relation::kSum;
  }
  const std::int64_t own = asked.slot() == 0 ? asked.element() : g.begin;
  asked.read(0, own);
  if (asked.slot() == 0)
    for (std::size_t i = 1; i < asked.inputs(); ++i) asked.read(i, g.scale(own));
  for (std::int64_t i = g.begin; i < g.begin + g.length; ++i)
    if (i != own) asked.read(0, i);
  return Relation::kMany;
}

/// dX = inv * (g - mean(g) - xhat * mean(g * xhat)), g = dY * scale.
RowResult groupGradRow(const Asked& asked, const Group& g) {
  const double mean = asked.at(3, g.number), inverse = asked.at(4, g.number);
  const auto normal = [&](std::int64_t i) { return (asked.at(1, i) - mean) * inverse; };
  const double own = normal(asked.element()), count = static_cast<double>(g.length);
  for (std::int64_t i = g.begin; i < g.begin + g.length; ++i) {
    const double same = i == asked.element() ? 1 : 0;
    asked.add(inverse * (same - (1 + own * normal(i)) / count), {{0, i}, {2, g.scale(i)}});
    asked.read(1, i);
  }
  asked.read(3, g.number);
  asked.read(4, g.number);
  return Relation::kSum;
}

/// A term of dscale (dY * xhat) or dB (dY). `number`: of its mean and inverse deviation.
void addToParameter(const Asked& asked, std::int64_t element, std::int64_t number) {
  if (asked.slot() == 2) return asked.add(1, {{0, element}});
  asked.add((asked.at(1, element) - asked.at(3, number)) * asked.at(4, number), {{0, element}});
  asked.read(1, element);
}

Group rowOf(const NormalRows& r, std::int64_t number) {
  return {.begin = number * r.length, .length = r.length, .number = number, .scales = r.length};
}

Group groupOf(const NormalGroups& g, std::int64_t number) {
  return {.begin = number * g.length(),
          .length = g.length(),
          .number = number,
          .scales = g.channels,
          .plane = g.plane,
          .firstScale = g.firstChannel(number)};
}

/// running = momentum * input + (1 - momentum) * batch's mean; the batch's mean.
RowResult batchMeanRow(const Asked& asked, const ChannelPlanes& p) {
  const bool running = asked.slot() == 1;
  const double momentum = running ? core::floatAttribute(asked.attributes(), "momentum", 0.9) : 0;
  if (running) asked.add(momentum, {{3, asked.element()}});
  const double share = (1 - momentum) / static_cast<double>(p.count());
  forChannel(p, asked.element(), [&](std::int64_t i) { asked.add(share, {{0, i}}); });
  return Relation::kSum;
}

}  // namespace

RowResult batchNormRow(const Asked& asked) {
  const ChannelPlanes p = core::channelPlanes(asked.shapeOf(0));
  const bool trains = core::batchNormTrains(asked.attributes());
  if (asked.slot() == 1 || asked.slot() == 3) return batchMeanRow(asked, p);
  const std::int64_t channel = asked.slot() == 0 ? asked.element() / p.plane % p.channels : asked.element();
  const std::int64_t own = asked.slot() == 0 ? asked.element() : p.begin(0, channel);
  asked.read(0, own);
  if (asked.slot() == 0)
    for (std::size_t i = 1; i < (trains ? 3 : 5); ++i) asked.read(i, channel);
  if (asked.slot() == 2) asked.read(4, channel);
  if (trains)
    forChannel(p, channel, [&](std::int64_t i) {
      if (i != own) asked.read(0, i);
    });
  return trains ? Relation::kMany : Relation::kFunction;
}

RowResult batchNormGradRow(const Asked& asked) {
  const ChannelPlanes p = core::channelPlanes(asked.shapeOf(1));
  const std::int64_t own = asked.element(), channel = asked.slot() == 0 ? own / p.plane % p.channels : own;
  if (asked.slot() != 0) {
    forChannel(p, channel, [&](std::int64_t i) { addToParameter(asked, i, channel); });
  } else {
    const double mean = asked.at(3, channel), inverse = asked.at(4, channel);
    const auto normal = [&](std::int64_t i) { return (asked.at(1, i) - mean) * inverse; };
    const double count = static_cast<double>(p.count());
    if (!core::batchNormTrains(asked.attributes())) {
      asked.add(inverse, {{0, own}, {2, channel}});
    } else {
      forChannel(p, channel, [&](std::int64_t i) {
        const double same = i == own ? 1 : 0;
        asked.add(inverse * (same - (1 + normal(own) * normal(i)) / count), {{0, i}, {2, channel}});
        asked.read(1, i);
      });
    }
  }
  if (asked.slot() != 2)
    for (const std::size_t i : {3, 4}) asked.read(i, channel);
  return Relation::kSum;
}

RowResult layerNormRow(const Asked& asked) {
  MSDBG_ASSIGN(const NormalRows r, core::normalRows("", asked.shapeOf(0), asked.attributes()));
  return groupRow(asked, rowOf(r, asked.slot() == 0 ? asked.element() / r.length : asked.element()));
}

RowResult layerNormGradRow(const Asked& asked) {
  MSDBG_ASSIGN(const NormalRows r, core::normalRows("", asked.shapeOf(1), asked.attributes()));
  if (asked.slot() == 0) return groupGradRow(asked, rowOf(r, asked.element() / r.length));
  for (std::int64_t row = 0; row < r.rows; ++row) {
    addToParameter(asked, row * r.length + asked.element(), row);
    if (asked.slot() == 1)
      for (const std::size_t i : {3, 4}) asked.read(i, row);
  }
  return Relation::kSum;
}

RowResult groupNormRow(const Asked& asked) {
  const core::TensorType x{asked.input(0).dtype(), asked.shapeOf(0)};
  MSDBG_ASSIGN(const NormalGroups g, core::normalGroups("", x, asked.attributes()));
  return groupRow(asked, groupOf(g, asked.slot() == 0 ? asked.element() / g.length() : asked.element()));
}

RowResult groupNormGradRow(const Asked& asked) {
  const core::TensorType x{asked.input(1).dtype(), asked.shapeOf(1)};
  MSDBG_ASSIGN(const NormalGroups g, core::normalGroups("", x, asked.attributes()));
  if (asked.slot() == 0) return groupGradRow(asked, groupOf(g, asked.element() / g.length()));
  for (std::int64_t image = 0; image < g.images; ++image) {
    const std::int64_t group = image * g.groups + asked.element() / g.channels,
                       begin = (image * g.groups * g.channels + asked.element()) * g.plane;
    for (std::int64_t i = begin; i < begin + g.plane; ++i) addToParameter(asked, i, group);
    if (asked.slot() == 1)
      for (const std::size_t i : {3, 4}) asked.read(i, group);
  }
  return Relation::kSum;
}

}  // namespace msdbg::replay
