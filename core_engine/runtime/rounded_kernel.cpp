#include "core_engine/runtime/rounded_kernel.h"

#include <algorithm>
#include <vector>

namespace msdbg::core {
namespace {

constexpr std::int64_t kPart = 1 << 14;     // elements
constexpr std::size_t kFirstPlace = 1'000;  // a kernel between other layouts has places of its own

/// f(first, count) for parts of `elements`.
template <typename F>
void overParts(std::int64_t elements, int threads, const F& f) {
  const std::int64_t parts = (elements + kPart - 1) / kPart;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && parts > 1)
  for (std::int64_t p = 0; p < parts; ++p) f(p * kPart, std::min(kPart, elements - p * kPart));
}

template <typename T>
void widen(const Tensor& from, Tensor& to, int threads) {
  overParts(from.elements(), threads,
            [x = from.data<T>().data(), y = to.data<float>().data()](std::int64_t first, std::int64_t count) {
              toFloats(x + first, count, y + first);
            });
}

template <typename T>
void round(const Tensor& from, Tensor& to, int threads) {
  overParts(from.elements(), threads,
            [x = from.data<float>().data(), y = to.data<T>().data()](std::int64_t first, std::int64_t count) {
              roundAll(x + first, count, y + first);
            });
}

class RoundedKernel : public KernelImpl {
 public:
  RoundedKernel(std::unique_ptr<KernelImpl> kernel, std::shared_ptr<const Graph> wide,
                std::shared_ptr<LayoutScratch> scratch)
      : m_wide(std::move(wide)), m_kernel(std::move(kernel)), m_scratch(std::move(scratch)) {}

  std::string name() const override { return m_kernel->name(); }
  std::string implementation() const override { return m_kernel->implementation(); }

  Status run(const KernelArgs& args) override {
    std::vector<Tensor> places;
    places.reserve(args.inputs.size() + args.outputs.size());
    std::vector<const Tensor*> inputs(args.inputs.begin(), args.inputs.end());
    std::vector<Tensor*> outputs(args.outputs.begin(), args.outputs.end());
    const auto placeFor = [&](const Tensor& tensor) -> Tensor& {
      places.push_back(m_scratch->place(kFirstPlace + places.size(), tensor.shape()));
      return places.back();
    };
    for (const Tensor*& input : inputs) {
      if (!isRounded(input->dtype())) continue;
      Tensor& place = placeFor(*input);
      if (input->dtype() == DType::Float16)
        widen<Float16>(*input, place, args.state.threads);
      else
        widen<BFloat16>(*input, place, args.state.threads);
      input = &place;
    }
    for (Tensor*& output : outputs)
      if (isRounded(output->dtype())) output = &placeFor(*output);
    MSDBG_TRY(m_kernel->run({m_wide->node(args.node.id), inputs, outputs, args.state}));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (args.outputs[i]->dtype() == DType::Float16)
        round<Float16>(*outputs[i], *args.outputs[i], args.state.threads);
      if (args.outputs[i]->dtype() == DType::BFloat16)
        round<BFloat16>(*outputs[i], *args.outputs[i], args.state.threads);
    }
    return Ok{};
  }

 private:
  std::shared_ptr<const Graph> m_wide;  // outlives the kernel
  std::unique_ptr<KernelImpl> m_kernel;
  std::shared_ptr<LayoutScratch> m_scratch;
};

}  // namespace

bool hasRounded(const Graph& graph, const Node& node) {
  const auto rounded = [&](TensorId id) { return isRounded(graph.tensor(id).dtype); };
  return std::ranges::any_of(node.inputs, rounded) || std::ranges::any_of(node.outputs, rounded);
}

Graph widened(const Graph& graph) {
  Graph wide = graph;
  for (const TensorInfo& info : graph.tensors())
    if (isRounded(info.dtype)) wide.tensor(info.id).dtype = DType::Float32;
  return wide;
}

std::unique_ptr<KernelImpl> rounding(std::unique_ptr<KernelImpl> kernel, std::shared_ptr<const Graph> wide,
                                     std::shared_ptr<LayoutScratch> scratch) {
  return std::make_unique<RoundedKernel>(std::move(kernel), std::move(wide), std::move(scratch));
}

}  // namespace msdbg::core
