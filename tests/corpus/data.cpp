#include "tests/corpus/data.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace msdbg::corpus {
namespace {

using Random = std::mt19937_64;

Random randomAt(At at, std::uint64_t kind) {
  std::seed_seq seed{static_cast<std::uint64_t>(at.iteration), static_cast<std::uint64_t>(at.rank), kind};
  return Random(seed);
}

double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

double normal(Random& random) {  // Box-Muller
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
  return radius * std::cos(2 * std::acos(-1.0) * uniform(random));
}

std::int64_t below(Random& random, std::int64_t count) {
  return static_cast<std::int64_t>(uniform(random) * static_cast<double>(count));
}

/// The same for every batch.
double centre(std::int64_t kind, std::int64_t feature) {
  Random random = randomAt({kind, feature}, 17);
  return normal(random);
}

}  // namespace

std::vector<At> iterations(Session& run, std::int64_t count) {
  std::vector<At> all;
  for (std::int64_t i = 0; i < run.steps(count); ++i) all.push_back({i, run.rank().value});
  return all;
}

Batch points(At at, const Points& shape) {
  Random random = randomAt(at, 1);
  Tensor x(DType::Float32, {shape.rows, shape.features}), label(DType::Int64, {shape.rows});
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::int64_t kind = below(random, shape.classes);
    label.data<std::int64_t>()[static_cast<std::size_t>(row)] = kind;
    for (std::int64_t i = 0; i < shape.features; ++i)
      x.data<float>()[static_cast<std::size_t>(row * shape.features + i)] =
          static_cast<float>(centre(kind, i) + shape.noise * normal(random));
  }
  return {core::Iteration(at.iteration), {{"x", x}, {"label", label}}};
}

Batch curve(At at, const Curve& shape) {
  Random random = randomAt(at, 2);
  Tensor x(DType::Float32, {shape.rows, shape.features}), y(DType::Float32, {shape.rows, 1});
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < shape.features; ++i) {
      const double value = normal(random);
      x.data<float>()[static_cast<std::size_t>(row * shape.features + i)] = static_cast<float>(value);
      sum += value * centre(99, i);
    }
    y.data<float>()[static_cast<std::size_t>(row)] = static_cast<float>(std::sin(sum));
  }
  return {core::Iteration(at.iteration), {{"x", x}, {"y", y}}};
}

Batch pictures(At at, const Pictures& shape) {
  Random random = randomAt(at, 3);
  const std::int64_t pixels = shape.size * shape.size;
  Tensor label(DType::Int64, {shape.rows});
  for (std::int64_t& kind : label.data<std::int64_t>()) kind = below(random, shape.classes);
  const Tensor x = filled({shape.rows, shape.channels, shape.size, shape.size}, [&](std::int64_t i) {
    const std::int64_t row = i / (shape.channels * pixels), line = i % pixels / shape.size;
    const bool bright = line % (label.data<std::int64_t>()[static_cast<std::size_t>(row)] + 2) == 0;
    return 0.4 * uniform(random) + (bright ? 0.6 : 0);
  });
  return {core::Iteration(at.iteration), {{"x", x}, {"label", label}}};
}

Batch words(At at, const Words& shape) {
  Random random = randomAt(at, 4);
  Tensor x(DType::Int64, {shape.rows, shape.length}), label(DType::Int64, {shape.rows, shape.length});
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::int64_t word = below(random, shape.used);
    for (std::int64_t i = 0; i < shape.length; ++i) {
      const auto place = static_cast<std::size_t>(row * shape.length + i);
      x.data<std::int64_t>()[place] = word;
      word = uniform(random) < 0.9 ? (word + 1) % shape.used : below(random, shape.used);
      label.data<std::int64_t>()[place] = word;
    }
  }
  return {core::Iteration(at.iteration), {{"x", x}, {"label", label}}};
}

Batch topics(At at) {
  Random random = randomAt(at, 5);
  Tensor x(DType::Int64, {8, 8}), label(DType::Int64, {8});
  for (std::size_t row = 0; row < 8; ++row) {
    const std::int64_t kind = below(random, 3);
    label.data<std::int64_t>()[row] = kind;
    for (std::size_t i = 0; i < 8; ++i) x.data<std::int64_t>()[8 * row + i] = 6 * kind + below(random, 6);
  }
  return {core::Iteration(at.iteration), {{"x", x}, {"label", label}}};
}

Tensor& tensorOf(Batch& batch, std::string_view name) {
  for (auto& [itsName, tensor] : batch.tensors)
    if (itsName == name) return tensor;
  throw std::runtime_error("the batch has no " + std::string(name));
}

Batch changed(Batch batch, std::string_view name, const std::function<float(float, std::size_t)>& change) {
  const auto values = tensorOf(batch, name).data<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = change(values[i], i);
  return batch;
}

Batch wide(Batch batch) {
  for (auto& [name, tensor] : batch.tensors)
    if (tensor.dtype() == DType::Float32) tensor = tensor.cast(DType::Float64);
  return batch;
}

Tensor filled(const Shape& shape, const std::function<double(std::int64_t)>& value) {
  Tensor tensor(DType::Float32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(value(i));
  return tensor;
}

Batch neighbours(At at) {
  Batch batch = points(at);
  const Tensor kinds = tensorOf(batch, "label");
  batch.tensors.emplace_back("near", filled({16, 16}, [&](std::int64_t i) {
                               const bool same = kinds.at(i / 16) == kinds.at(i % 16);
                               return i / 16 == i % 16 || (same && (i * 7 + at.iteration) % 3 > 0) ? 1 : 0;
                             }));
  return batch;
}

Batch diffused(At at) {
  Batch batch = curve(at);
  std::erase_if(batch.tensors, [](const auto& tensor) { return tensor.first == "y"; });
  const double begin = static_cast<double>(at.iteration);
  const auto wave = [&](double frequency, double step) {
    return [=](std::int64_t i) { return std::sin(frequency * (static_cast<double>(i) + step * begin)); };
  };
  batch.tensors.emplace_back("noise",
                             filled({16, 4}, [&](std::int64_t i) { return 1.4 * wave(12.9, 64)(i); }));
  batch.tensors.emplace_back("time",
                             filled({16, 1}, [&](std::int64_t i) { return 0.5 + 0.45 * wave(3.7, 16)(i); }));
  return batch;
}

Batch objects(At at) {
  Batch batch = curve(at);
  const Tensor size = tensorOf(batch, "y");
  batch.tensors.emplace_back("box",
                             filled({16, 1}, [&](std::int64_t i) { return std::max(size.at(i), 0.0); }));
  return changed(std::move(batch), "y", [](float v, std::size_t) { return v > 0 ? 1.f : 0.f; });
}

Value meanSquare(Value prediction, Value target) {
  const Value difference = prediction - target;
  return reduceMean(difference * difference, {}, false);
}

Value classRows(Value label, std::int64_t classes) {
  const Value kinds = range(label.graph(), classes);
  return cast(equal(unsqueeze(label, {1}), unsqueeze(kinds, {0})), DType::Float32);
}

}  // namespace msdbg::corpus
