#include "core_engine/runtime/layout_adapter.h"

#include <algorithm>

#include "core_engine/base/simd.h"

namespace msdbg::core {
namespace {

MSDBG_SIMD_CLONES void gatherBlock(const float* rowMajor, std::int64_t plane, float* block) {
  for (std::int64_t i = 0; i < plane; ++i)
    for (std::int64_t c = 0; c < kChannelBlock; ++c) block[i * kChannelBlock + c] = rowMajor[c * plane + i];
}
MSDBG_SIMD_CLONES void scatterBlock(const float* block, std::int64_t plane, float* rowMajor) {
  for (std::int64_t i = 0; i < plane; i += kChannelBlock) {
    const std::int64_t count = std::min(kChannelBlock, plane - i);
    for (std::int64_t c = 0; c < kChannelBlock; ++c)
      for (std::int64_t k = 0; k < count; ++k)
        rowMajor[c * plane + i + k] = block[(i + k) * kChannelBlock + c];
  }
}

using Convert = void (*)(const float* from, std::int64_t plane, float* to);

/// Blocks of channels begin at the same element in both layouts.
void convert(const Tensor& from, Tensor& to, int threads, Convert block) {
  const Shape& shape = from.shape();
  const std::int64_t plane = shape[2] * shape[3], blocks = shape[0] * shape[1] / kChannelBlock;
  const float* source = from.data<float>().data();
  float* target = to.data<float>().data();
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t b = 0; b < blocks; ++b)
    block(source + b * plane * kChannelBlock, plane, target + b * plane * kChannelBlock);
}

class LayoutAdapter : public KernelImpl {
 public:
  LayoutAdapter(std::unique_ptr<KernelImpl> kernel, std::vector<bool> inputs, std::vector<bool> outputs,
                std::shared_ptr<LayoutScratch> scratch)
      : m_kernel(std::move(kernel)),
        m_inputs(std::move(inputs)),
        m_outputs(std::move(outputs)),
        m_scratch(std::move(scratch)) {}

  std::string name() const override { return m_kernel->name(); }
  std::string implementation() const override { return m_kernel->implementation(); }

  Status run(const KernelArgs& args) override {
    std::vector<Tensor> places;
    places.reserve(args.inputs.size() + args.outputs.size());
    std::vector<const Tensor*> inputs(args.inputs.begin(), args.inputs.end());
    std::vector<Tensor*> outputs(args.outputs.begin(), args.outputs.end());
    const auto placeFor = [&](const Tensor& tensor) -> Tensor& {
      places.push_back(m_scratch->place(places.size(), tensor.shape()));
      return places.back();
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!m_inputs[i]) continue;
      Tensor& place = placeFor(*inputs[i]);
      toRowMajor(*inputs[i], place, args.state.threads);
      inputs[i] = &place;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (m_outputs[i]) outputs[i] = &placeFor(*outputs[i]);
    MSDBG_TRY(m_kernel->run({args.node, inputs, outputs, args.state}));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (m_outputs[i]) toChannels16(*outputs[i], *args.outputs[i], args.state.threads);
    return Ok{};
  }

 private:
  std::unique_ptr<KernelImpl> m_kernel;
  std::vector<bool> m_inputs, m_outputs;
  std::shared_ptr<LayoutScratch> m_scratch;
};

}  // namespace

void toRowMajor(const Tensor& channels16, Tensor& rowMajor, int threads) {
  convert(channels16, rowMajor, threads, scatterBlock);
}
void toChannels16(const Tensor& rowMajor, Tensor& channels16, int threads) {
  convert(rowMajor, channels16, threads, gatherBlock);
}

Tensor LayoutScratch::place(std::size_t i, const Shape& shape) {
  Tensor& place = m_places[i];
  if (!place.valid() || place.elements() < shape.elements()) place = Tensor::zeros(DType::Float32, shape);
  return place.part(0, shape);
}

std::size_t LayoutScratch::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, place] : m_places) bytes += place.bytes();
  return bytes;
}

std::unique_ptr<KernelImpl> adaptLayouts(std::unique_ptr<KernelImpl> kernel, std::vector<bool> inputs,
                                         std::vector<bool> outputs, std::shared_ptr<LayoutScratch> scratch) {
  return std::make_unique<LayoutAdapter>(std::move(kernel), std::move(inputs), std::move(outputs),
                                         std::move(scratch));
}

}  // namespace msdbg::core
