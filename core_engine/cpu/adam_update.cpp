// AdamUpdate, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"

namespace msdbg::core::cpu {
namespace {

void updatePart(const KernelArgs& args, const AdamStep& step, std::int64_t begin, std::int64_t end) {
  const auto in = [&](std::size_t i) { return args.inputs[i]->data<float>().data() + begin; };
  const auto out = [&](std::size_t i) { return args.outputs[i]->data<float>().data() + begin; };
  adamTile(step, {in(0), in(1), in(3), in(4), out(0), out(1), out(2)}, end - begin);
}

}  // namespace

Backend::Answer adamUpdateKernel(const CompileRequest& r) {
  return functionKernel(r, [threads = r.threads](const KernelArgs& args) -> Status {
    const AdamStep step = adamStep(args);
    parallelElements(args.outputs[0]->elements(), threads,
                     [&](std::int64_t begin, std::int64_t end) { updatePart(args, step, begin, end); });
    return Ok{};
  });
}

}  // namespace msdbg::core::cpu
