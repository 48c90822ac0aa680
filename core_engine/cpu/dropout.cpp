// Dropout and DropoutGrad. An element's random number depends on its index in the global batch alone
// (philox.h), so the threads draw what the reference draws; factors are applied in double, as there.
#include "core_engine/ops/dropout.h"

#include <algorithm>

#include "core_engine/base/philox.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core::cpu {
namespace {

constexpr std::int64_t kDrawWork =
    16;  // one random number costs about as much as 16 elements of a plain loop

void keepPart(const TilePart& part) {
  std::fill_n(part.args.outputs[1]->data<bool>().data() + part.begin, part.count(), true);
  std::copy_n(part.in[0], part.count(), part.out);
}

void dropPart(const TilePart& part, double ratio, double scale) {
  const RunState& state = part.args.state;
  const RandomStream random(state.seed, part.args.node.name, state.iteration.value);
  const std::int64_t first = state.rank.value * part.args.outputs[0]->elements() + part.begin;
  const float* x = part.in[0];
  bool* mask = part.args.outputs[1]->data<bool>().data() + part.begin;
  for (std::int64_t i = 0; i < part.count(); ++i) {
    mask[i] = random.uniform(static_cast<std::uint64_t>(first + i)) >= ratio;
    part.out[i] = mask[i] ? static_cast<float>(static_cast<double>(x[i]) * scale) : 0.0f;
  }
}

}  // namespace

TileAnswer dropoutTiles(const CompileRequest& r) {
  const double ratio = dropRatio(r.node.attributes);
  return {TileOp{{.along = {true, false, false}},
                 [ratio, scale = keptScale(ratio)](const TilePart& part) {
                   part.args.state.training ? dropPart(part, ratio, scale) : keepPart(part);
                 },
                 nullptr,
                 kDrawWork},
          ""};
}

TileAnswer dropoutGradTiles(const CompileRequest& r) {
  return {TileOp{{.along = {true, false}},
                 [scale = keptScale(dropRatio(r.node.attributes))](const TilePart& part) {
                   const float* dy = part.in[0];
                   const bool* mask = part.args.inputs[1]->data<bool>().data() + part.begin;
                   for (std::int64_t i = 0; i < part.count(); ++i)
                     part.out[i] = mask[i] ? static_cast<float>(static_cast<double>(dy[i]) * scale) : 0.0f;
                 }},
          ""};
}

}  // namespace msdbg::core::cpu
