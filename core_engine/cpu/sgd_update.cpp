// SgdUpdate, bit for bit the reference: computed in double, every stored value rounded once.
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core::cpu {
namespace {

void updatePart(const TilePart& part, const SgdSettings& s) {
  const auto in = [&](std::size_t i) { return part.in[i] + part.begin; };
  if (part.in.size() < 4) return sgdTile(s, in(0), in(1), part.out, part.count());
  sgdMomentumTile(s, in(0), in(1), in(3), part.out, part.args.outputs[1]->data<float>().data() + part.begin,
                  part.count());
}

}  // namespace

TileAnswer sgdUpdateTiles(const CompileRequest& r) {
  const auto settings = std::make_shared<SgdSettings>();
  settings->momentum = floatAttribute(r.node.attributes, "momentum", 0);
  settings->decay = floatAttribute(r.node.attributes, "weight_decay", 0);
  settings->nesterov = intAttribute(r.node.attributes, "nesterov", 0) != 0;
  return {TileOp{{.inPlace = true},
                 [settings](const TilePart& part) { updatePart(part, *settings); },
                 [settings](const KernelArgs& args) { settings->rate = args.inputs[2]->at(0); }},
          ""};
}

}  // namespace msdbg::core::cpu
