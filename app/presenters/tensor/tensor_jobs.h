// What the tensor panel asks of a run: pure questions and answers, values only. Replay thread.
#pragma once

#include <map>

#include "app/presenters/tensor/picture.h"
#include "app/presenters/tensor/tensor_cache.h"
#include "replay/recompute_way.h"

namespace msdbg::app {

/// A tile is at most kTileSide x kTileSide elements of the plane; keys count tiles.
inline constexpr int kTileSide = 64;
struct TileKey {
  int row = 0, column = 0;
  auto operator<=>(const TileKey&) const = default;
};
using Tiles = std::map<TileKey, core::Tensor>;
template <typename T>
using PerSide = std::array<T, kSides.size()>;

/// Which values: A, and what it is compared with.
struct ValueQuestion {
  ValueKey a;
  std::optional<ValueKey> b;
};

struct ValueAnswer {
  struct Value {
    std::optional<watch::StatisticsRow> statistics;
    std::optional<core::Error> missing;       // why there is no value
    std::optional<core::Iteration> nearest;   // not stored here, but there
    std::optional<replay::RecomputeWay> way;  // not stored here, but it can be computed again
    core::Shape shape;                        // of the value
    core::DType dtype = core::DType::Float32;
    std::string device;  // where it lay: "cuda:0"; "": not known
  };
  Value a;
  std::optional<Value> b;
  replay::NonFinite nonFinite;  // of A
  std::optional<replay::Difference> difference;
  PerSide<Tiles> tiles;

  bool comparable() const { return b && !a.missing && !b->missing && a.shape == b->shape; }
};

inline constexpr std::size_t kMostPositions = 100;

/// Statistics, what is not finite, the difference, and some tiles at once.
ValueAnswer readValues(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                       const SlicePlane& plane, const PerSide<std::vector<TileKey>>& tiles,
                       const core::CancelToken& cancel);

/// Tiles that cannot be read (another shape, not stored) are left out.
PerSide<Tiles> readTiles(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                         const SlicePlane& plane, const PerSide<std::vector<TileKey>>& wanted);

struct PictureQuestion {
  ColourMap map = ColourMap::kAuto;
  QSize most;
};
/// A and B share one range of values, so that equal colours mean equal values.
PerSide<Picture> readPictures(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                              const SlicePlane& plane, const PictureQuestion& picture,
                              const core::CancelToken& cancel);

struct Histograms {
  std::optional<replay::Histogram> a, b;  // over one range of values
};
inline constexpr std::size_t kHistogramBins = 64;
Histograms readHistograms(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                          const core::CancelToken& cancel);

/// The values of one side; the reason why there are none.
core::Result<SideValues> sideValues(replay::Run& run, TensorCache& cache, const ValueQuestion& question,
                                    Side side);

}  // namespace msdbg::app
