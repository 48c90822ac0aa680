#include "app/presenters/tensor/tensor_jobs.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/graph/graph_union.h"
#include "replay/describe.h"
#include "replay/nearest_value.h"
#include "replay/run_state.h"

namespace msdbg::app {

using core::CancelToken;
using core::Error;
using core::ErrorCode;
using core::Result;
using core::Tensor;

namespace {

using Keys = PerSide<std::vector<TileKey>>;

Tensor readTile(const SideValues& values, const SlicePlane& plane, TileKey key) {
  const std::int64_t row = std::int64_t{key.row} * kTileSide, column = std::int64_t{key.column} * kTileSide;
  const std::int64_t rows = std::clamp<std::int64_t>(plane.rows() - row, 0, kTileSide);
  const std::int64_t columns = std::clamp<std::int64_t>(plane.columns() - column, 0, kTileSide);
  Tensor tile(values.dtype(), core::Shape{rows, columns});
  const std::int64_t stride = plane.columnStride();
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t start = plane.flatIndex(row + r, column);
    for (std::int64_t c = 0; c < columns; ++c) values.copy(start + c * stride, tile, r * columns + c);
  }
  return tile;
}

// Which file, and what to do; the words of what found it are behind it.
Error inOurWords(replay::Run& run, const ValueKey& key, const Error& error) {
  if (error.code() != ErrorCode::kDamaged) return error;
  const auto file = replay::damageAt(run.damage(), key.rank, key.iteration);
  if (!file) return error;
  return {error.code(), replay::damageText(*file) + " (" + core::join(file->details, "; ") + "). " +
                            replay::damageAdvice()};
}

bool isComputed(const replay::Run& run, const ValueKey& key) {
  const core::GraphPart* part = key.iteration.valid() ? run.part(key.rank, key.iteration) : nullptr;
  return key.iteration.valid() && (!part || part->has(key.tensor));
}

// From a checkpoint that can be read, or why there is none. A large one is not read for that.
void addWay(replay::Run& run, const ValueKey& key, ValueAnswer::Value& value) {
  constexpr std::uint64_t kQuicklyRead = 64u << 20;
  const replay::Recomputable* const source = run.recomputable();
  if (!source) return;
  replay::RecomputeWays ways(run);
  const std::size_t checkpoints = source->checkpoints(key.rank).size();
  const bool quick = checkpoints > 0 && run.storage().states / checkpoints <= kQuicklyRead;
  const Result<replay::RecomputeWay> way =
      quick ? ways.toReadable(run, key.iteration) : ways.to(key.iteration);
  if (way.ok())
    value.way = *way;
  else
    value.missing =
        Error(value.missing->code(),
              value.missing->message() + "; nor can it be computed again: " + way.error().message());
}

ValueAnswer::Value describe(replay::Run& run, const ValueKey& key, const Result<Tensor>& tensor) {
  ValueAnswer::Value value;
  value.device = replay::deviceOf(
      run.graph(), key.iteration.valid() ? run.part(key.rank, key.iteration) : nullptr, key.tensor);
  if (const watch::StatisticsRow* row = run.flags(key.rank, key.iteration, key.tensor))
    value.statistics = *row;
  if (!tensor.ok()) {
    value.missing = inOurWords(run, key, tensor.error());
    if (tensor.error().code() != ErrorCode::kUnavailable) return value;
    if (key.iteration.valid())
      value.nearest = replay::nearestReadableValue(run, key.rank, key.iteration, key.tensor);
    if (isComputed(run, key)) addWay(run, key, value);
    return value;
  }
  value.shape = tensor->shape();
  value.dtype = tensor->dtype();
  return value;
}

/// Histogram's input: nothing when there is no value.
std::optional<Tensor> valueOf(replay::Run& run, TensorCache& cache, const std::optional<ValueKey>& key) {
  if (!key) return std::nullopt;
  Result<Tensor> value = cache.value(run, *key);
  return value.ok() ? std::optional(std::move(value).value()) : std::nullopt;
}

}  // namespace

Result<SideValues> sideValues(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                              Side side) {
  if (side != Side::kA && !question.b)
    return Error(ErrorCode::kUnavailable, "there is nothing to compare with");
  if (side != Side::kDifference) {
    MSDBG_ASSIGN(Tensor value, cache.value(run, side == Side::kA ? question.a : *question.b));
    return SideValues(std::move(value));
  }
  MSDBG_ASSIGN(Tensor a, cache.value(run, question.a));
  MSDBG_ASSIGN(Tensor b, cache.value(run, *question.b));
  if (a.shape() != b.shape())
    return Error(ErrorCode::kUnavailable,
                 "the shapes differ: " + a.shape().text() + " and " + b.shape().text());
  return SideValues(std::move(a), std::move(b));
}

PerSide<Tiles> readTiles(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                         const SlicePlane& plane, const Keys& wanted) {
  PerSide<Tiles> tiles;
  for (const Side side : kSides) {
    if (wanted[indexOf(side)].empty()) continue;
    const Result<SideValues> values = sideValues(run, cache, question, side);
    if (!values.ok() || !plane.valid() || values->shape() != plane.shape()) continue;
    for (const TileKey key : wanted[indexOf(side)])
      tiles[indexOf(side)].emplace(key, readTile(*values, plane, key));
  }
  return tiles;
}

ValueAnswer readValues(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                       const SlicePlane& plane, const Keys& tiles, const CancelToken& cancel) {
  ValueAnswer answer;
  const Result<Tensor> a = cache.value(run, question.a);
  answer.a = describe(run, question.a, a);
  if (a.ok()) answer.nonFinite = replay::findNonFinite(*a, kMostPositions, cancel);
  if (question.b) {
    const Result<Tensor> b = cache.value(run, *question.b);
    answer.b = describe(run, *question.b, b);
    if (answer.comparable()) answer.difference = replay::compareTensors(*a, *b, cancel);
  }
  answer.tiles = readTiles(run, cache, question, plane, tiles);
  return answer;
}

PerSide<Picture> readPictures(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                              const SlicePlane& plane, const PictureQuestion& picture,
                              const CancelToken& cancel) {
  PerSide<PictureBlocks> blocks;
  for (const Side side : kSides) {
    const Result<SideValues> values = sideValues(run, cache, question, side);
    if (!values.ok() || !plane.valid() || values->shape() != plane.shape()) continue;
    blocks[indexOf(side)] = blocksOf(*values, plane, picture.most, cancel);
  }
  const replay::ValueRange shared = blocks[indexOf(Side::kA)].range.with(blocks[indexOf(Side::kB)].range);
  PerSide<Picture> pictures;
  for (const Side side : kSides) {
    const PictureBlocks& seen = blocks[indexOf(side)];
    const bool difference = side == Side::kDifference;
    pictures[indexOf(side)] =
        makePicture(seen, difference ? seen.range : shared, difference ? ColourMap::kDiverging : picture.map);
  }
  return pictures;
}

Histograms readHistograms(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                          const CancelToken& cancel) {
  const std::optional<Tensor> a = valueOf(run, cache, question.a), b = valueOf(run, cache, question.b);
  replay::ValueRange range;
  if (a) range = replay::finiteRange(*a, cancel);
  if (b) range = range.with(replay::finiteRange(*b, cancel));
  Histograms histograms;
  if (a) histograms.a = replay::histogramOf(*a, range, kHistogramBins, cancel);
  if (b) histograms.b = replay::histogramOf(*b, range, kHistogramBins, cancel);
  return histograms;
}

}  // namespace msdbg::app
