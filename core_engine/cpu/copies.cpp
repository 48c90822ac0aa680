// Identity, Reshape, Flatten, Squeeze, Unsqueeze: bytes as they are. Cast where no rounding rule is involved
// or C++'s own is the rule.
#include <cstring>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"

namespace msdbg::core::cpu {
namespace {

template <typename To, typename From>
Status convert(const KernelArgs& args, int threads) {
  const From* x = args.inputs[0]->data<From>().data();
  To* y = args.outputs[0]->data<To>().data();
  parallelElements(args.outputs[0]->elements(), threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
  });
  return Ok{};
}

template <typename To, typename From>
Backend::Answer conversion(const CompileRequest& r) {
  return functionKernel(
      r, [threads = r.threads](const KernelArgs& args) { return convert<To, From>(args, threads); });
}

}  // namespace

Backend::Answer copyKernel(const CompileRequest& r) {
  return functionKernel(r, [threads = r.threads](const KernelArgs& args) -> Status {
    const auto bytes = static_cast<std::int64_t>(args.inputs[0]->bytes());
    const std::byte* from = args.inputs[0]->byteSpan().data();
    std::byte* to = args.outputs[0]->byteSpan().data();
    parallelRanges(bytes, 64, threads, bytes / 4, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
    return Ok{};
  });
}

Backend::Answer castKernel(const CompileRequest& r) {
  const DType from = r.input(0).dtype, to = r.output().dtype;
  if (from == to) return copyKernel(r);
  if (from == DType::Float64 && to == DType::Float32) return conversion<float, double>(r);
  if (from == DType::Float32 && to == DType::Float64) return conversion<double, float>(r);
  if (from == DType::UInt8 && to == DType::Float32) return conversion<float, std::uint8_t>(r);
  if (from == DType::Int64 && to == DType::Float32) return conversion<float, std::int64_t>(r);
  return decline("a cast from " + std::string(dtypeName(from)) + " to " + std::string(dtypeName(to)) +
                 " is rare");
}

}  // namespace msdbg::core::cpu
