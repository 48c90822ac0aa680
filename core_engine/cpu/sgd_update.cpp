// SgdUpdate, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"
#include "core_engine/ops/micro_step.h"

namespace msdbg::core::cpu {
namespace {

struct SgdRun {
  SgdSettings settings;
  bool waits = false;  // between two updates: all stays as it is
};

void updatePart(const TilePart& part, const SgdRun& run) {
  const auto in = [&](std::size_t i) { return part.in[i] + part.begin; };
  const bool hasState = part.args.outputs.size() > 1;
  float* state = hasState ? part.args.outputs[1]->data<float>().data() + part.begin : nullptr;
  if (run.waits) {
    keepTile(in(0), part.out, part.count());
    if (hasState) keepTile(in(3), state, part.count());
    return;
  }
  if (!hasState) return sgdTile(run.settings, in(0), in(1), part.out, part.count());
  sgdMomentumTile(run.settings, in(0), in(1), in(3), part.out, state, part.count());
}

}  // namespace

TileAnswer sgdUpdateTiles(const CompileRequest& r) {
  const auto run = std::make_shared<SgdRun>();
  run->settings.momentum = floatAttribute(r.node.attributes, "momentum", 0);
  run->settings.decay = floatAttribute(r.node.attributes, "weight_decay", 0);
  run->settings.nesterov = intAttribute(r.node.attributes, "nesterov", 0) != 0;
  const double factor = floatAttribute(r.node.attributes, "lr_factor", 1);
  return {TileOp{{.inPlace = true},
                 [run](const TilePart& part) { updatePart(part, *run); },
                 [run, factor](const KernelArgs& args) {
                   run->settings.rate = args.inputs[2]->at(0) * factor;
                   run->waits = isBetweenUpdates(args);
                 }},
          ""};
}

}  // namespace msdbg::core::cpu
