// AdamUpdate, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core::cpu {
namespace {

void updatePart(const TilePart& part, const AdamStep& step) {
  const auto in = [&](std::size_t i) { return part.in[i] + part.begin; };
  const auto out = [&](std::size_t i) { return part.args.outputs[i]->data<float>().data() + part.begin; };
  adamTile(step, {in(0), in(1), in(3), in(4), part.out, out(1), out(2)}, part.count());
}

}  // namespace

TileAnswer adamUpdateTiles(const CompileRequest&) {
  const auto step = std::make_shared<AdamStep>();
  return {TileOp{{.inPlace = true},
                 [step](const TilePart& part) { updatePart(part, *step); },
                 [step](const KernelArgs& args) { *step = adamStep(args); }},
          ""};
}

}  // namespace msdbg::core::cpu
