// GatherGrad: every slice of dY added to the slice of dX that Gather took it from, in the order of the
// indices, in double: the same bits on any thread count.
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/indices.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "GatherGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs(kName, inputs, {"dY", "indices"}));
  MSDBG_TRY(checkFloatingInputs(kName, inputs.first(1), {"dY"}));
  MSDBG_TRY(checkIndexType(kName, inputs[1]));
  const Shape x(intsAttribute(attributes, "shape", {}));
  MSDBG_TRY(checkSize(kName, "attribute shape", x));
  MSDBG_ASSIGN(const std::size_t axis, checkAxis(kName, intAttribute(attributes, "axis", 0), x.rank()));
  Ints dims = intsOf(x);
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), inputs[1].shape.dims().begin(),
              inputs[1].shape.dims().end());
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], Shape(std::move(dims))));
  return std::vector<TensorType>{{inputs[0].dtype, x}};
}

/// The places of each index value, in their order: places[first[v]] up to places[first[v + 1]].
struct Places {
  Ints first, places;
  Places(const Ints& indices, std::int64_t size) : first(size + 1, 0), places(indices.size()) {
    for (std::int64_t v : indices) ++first[v + 1];
    for (std::int64_t v = 0; v < size; ++v) first[v + 1] += first[v];
    Ints next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < indices.size(); ++i)
      places[next[indices[i]]++] = static_cast<std::int64_t>(i);
  }
};

template <typename T>
void run(const KernelArgs& args, const AxisLines& axis, const Ints& indices) {
  const Places places(indices, axis.length);
  const T* dy = args.inputs[0]->data<T>().data();
  T* dx = args.outputs[0]->data<T>().data();
  const auto count = static_cast<std::int64_t>(indices.size());
  parallelFor(axis.outer * axis.length, args.state.threads, 16, [&](std::int64_t slice) {
    const std::int64_t outer = slice / axis.length, value = slice % axis.length;
    std::vector<double> sums(static_cast<std::size_t>(axis.inner), 0.0);
    for (std::int64_t at = places.first[value]; at < places.first[value + 1]; ++at) {
      const T* from = dy + (outer * count + places.places[at]) * axis.inner;
      for (std::int64_t j = 0; j < axis.inner; ++j) sums[j] += from[j];
    }
    for (std::int64_t j = 0; j < axis.inner; ++j) dx[slice * axis.inner + j] = static_cast<T>(sums[j]);
  });
}

Status reference(const KernelArgs& args) {
  const Shape& x = args.outputs[0]->shape();
  const std::size_t axis = checkAxis("", intAttribute(args.node.attributes, "axis", 0), x.rank()).value();
  MSDBG_ASSIGN(const Ints indices, readIndices(args.node, *args.inputs[1], x[axis]));
  visitFloating(args.outputs[0]->dtype(),
                [&](auto zero) { run<decltype(zero)>(args, axisLines(x, axis), indices); });
  return Ok{};
}

}  // namespace

OpDef gatherGradOp() {
  return {.name = kName,
          .doc = "dX[indices[i]] += dY[i] along an axis, summed in the order of the indices. msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "indices"},
          .outputNames = {"dX"},
          .attributes = {{"axis", "int", "0", "as in Gather"},
                         {"shape", "ints", "required", "the shape of the data"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
