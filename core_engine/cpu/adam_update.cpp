// AdamUpdate, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"
#include "core_engine/ops/adam.h"
#include "core_engine/ops/micro_step.h"

namespace msdbg::core::cpu {
namespace {

struct AdamRun {
  AdamStep step;
  bool waits = false;  // between two updates: all stays as it is
};

void updatePart(const TilePart& part, const AdamRun& run) {
  const auto in = [&](std::size_t i) { return part.in[i] + part.begin; };
  const auto out = [&](std::size_t i) { return part.args.outputs[i]->data<float>().data() + part.begin; };
  if (run.waits) {
    keepTile(in(0), part.out, part.count());
    keepTile(in(3), out(1), part.count());
    return keepTile(in(4), out(2), part.count());
  }
  adamTile(run.step, {in(0), in(1), in(3), in(4), part.out, out(1), out(2)}, part.count());
}

}  // namespace

TileAnswer adamUpdateTiles(const CompileRequest&) {
  const auto run = std::make_shared<AdamRun>();
  return {TileOp{{.inPlace = true},
                 [run](const TilePart& part) { updatePart(part, *run); },
                 [run](const KernelArgs& args) {
                   *run = {adamStep(args), isBetweenUpdates(args)};
                 }},
          ""};
}

}  // namespace msdbg::core::cpu
