// SgdUpdate, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"

namespace msdbg::core::cpu {
namespace {

void updatePart(const KernelArgs& args, const SgdSettings& s, std::int64_t begin, std::int64_t end) {
  const float* p = args.inputs[0]->data<float>().data() + begin;
  const float* g = args.inputs[1]->data<float>().data() + begin;
  float* next = args.outputs[0]->data<float>().data() + begin;
  if (args.inputs.size() < 4) return sgdTile(s, p, g, next, end - begin);
  const float* state = args.inputs[3]->data<float>().data() + begin;
  float* nextState = args.outputs[1]->data<float>().data() + begin;
  sgdMomentumTile(s, p, g, state, next, nextState, end - begin);
}

}  // namespace

Backend::Answer sgdUpdateKernel(const CompileRequest& r) {
  const double momentum = floatAttribute(r.node.attributes, "momentum", 0);
  const double decay = floatAttribute(r.node.attributes, "weight_decay", 0);
  const bool nesterov = intAttribute(r.node.attributes, "nesterov", 0) != 0;
  return functionKernel(
      r, [momentum, decay, nesterov, threads = r.threads](const KernelArgs& args) -> Status {
        const SgdSettings settings{args.inputs[2]->at(0), momentum, decay, nesterov};
        parallelElements(args.outputs[0]->elements(), threads, [&](std::int64_t begin, std::int64_t end) {
          updatePart(args, settings, begin, end);
        });
        return Ok{};
      });
}

}  // namespace msdbg::core::cpu
