// Gemm and MatMul by the device's library.
#include "core_engine/device/kernel_factory.h"

namespace msdbg::core::device {
namespace {

Backend::Answer productKernel(const DeviceRequest& r, const ProductShape& shape) {
  std::string why;
  std::shared_ptr<Operation> operation = r.context.device().product(shape, why);
  if (!operation) return decline(std::move(why));
  return deviceKernel(
      r,
      [operation, bias = shape.bias](const KernelArgs& args) {
        std::vector<const void*> inputs{args.inputs[0]->address(), args.inputs[1]->address()};
        if (bias) inputs.push_back(args.inputs[2]->address());
        operation->run(inputs, args.outputs[0]->address());
      },
      operation->implementation());
}

bool isRow(const Shape& c, std::int64_t n) { return c == Shape{n} || c == Shape{1, n}; }

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t all = 1;
  for (const std::int64_t d : dims) all *= d;
  return all;
}

}  // namespace

Backend::Answer gemmKernel(const DeviceRequest& r) {
  const Attributes& a = r.node.attributes;
  const Shape &left = r.input(0).shape, &y = r.output().shape;
  ProductShape shape;
  shape.transposeA = intAttribute(a, "transA", 0) != 0;
  shape.transposeB = intAttribute(a, "transB", 0) != 0;
  shape.m = y[0], shape.n = y[1], shape.k = left[shape.transposeA ? 0 : 1];
  shape.scale = static_cast<float>(floatAttribute(a, "alpha", 1));
  shape.bias = r.hasInput(2);
  if (shape.bias && (shape.scale != 1 || floatAttribute(a, "beta", 1) != 1 || !isRow(r.input(2).shape, y[1])))
    return decline("C is no row that is added as it is");
  return productKernel(r, shape);
}

Backend::Answer matMulKernel(const DeviceRequest& r) {
  const Shape &a = r.input(0).shape, &b = r.input(1).shape;
  if (a.rank() < 2 || b.rank() < 2) return decline("an operand is a vector");
  ProductShape shape;
  shape.m = a[a.rank() - 2], shape.k = a[a.rank() - 1], shape.n = b[b.rank() - 1];
  const auto batchesOf = [](const Shape& s) { return s.dims().first(s.rank() - 2); };
  const std::int64_t batchA = product(batchesOf(a)), batchB = product(batchesOf(b));
  if (batchB == 1) {
    shape.m *= batchA;  // all rows are read with one matrix
  } else if (batchA == 1 || std::ranges::equal(batchesOf(a), batchesOf(b))) {
    shape.batch = batchB;
    shape.strideA = batchA == 1 ? 0 : shape.m * shape.k;
    shape.strideB = shape.k * shape.n;
  } else {
    return decline("its batches " + a.text() + " and " + b.text() + " broadcast");
  }
  return productKernel(r, shape);
}

}  // namespace msdbg::core::device
