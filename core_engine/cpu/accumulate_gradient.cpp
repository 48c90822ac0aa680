// AccumulateGradient, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core::cpu {
namespace {

struct Accumulation {
  double steps = 1;
  bool first = true;
};

void accumulatePart(const TilePart& part, const Accumulation& a) {
  const float *g = part.in[0] + part.begin, *sum = part.in[1] + part.begin;
  for (std::int64_t i = 0; i < part.count(); ++i) {
    const double share = static_cast<double>(g[i]) / a.steps;
    part.out[i] = static_cast<float>(a.first ? share : static_cast<double>(sum[i]) + share);
  }
}

}  // namespace

TileAnswer accumulateGradientTiles(const CompileRequest& r) {
  const auto run = std::make_shared<Accumulation>();
  run->steps = static_cast<double>(intAttribute(r.node.attributes, "steps", 1));
  return {
      TileOp{{.inPlace = true},
             [run](const TilePart& part) { accumulatePart(part, *run); },
             [run](const KernelArgs& args) { run->first = args.inputs[2]->data<std::int64_t>()[0] == 0; }},
      ""};
}

}  // namespace msdbg::core::cpu
