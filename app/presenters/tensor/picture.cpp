#include "app/presenters/tensor/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace msdbg::app {

using core::CancelToken;

namespace {

constexpr std::size_t kMostMarks = 32;
constexpr double kMostProportion = 12;  // longer planes are stretched

using Anchor = std::array<double, 3>;
// Viridis (van der Walt and Smith, 2015) and Brewer's BrBG, at equal steps: neither has the red of a NaN.
constexpr std::array<Anchor, 9> kSequential = {{{68, 1, 84},
                                                {71, 44, 122},
                                                {59, 81, 139},
                                                {44, 113, 142},
                                                {33, 144, 141},
                                                {39, 173, 129},
                                                {92, 200, 99},
                                                {170, 220, 50},
                                                {253, 231, 37}}};
constexpr std::array<Anchor, 9> kDiverging = {{{140, 81, 10},
                                               {191, 129, 45},
                                               {223, 194, 125},
                                               {246, 232, 195},
                                               {245, 245, 245},
                                               {199, 234, 229},
                                               {128, 205, 193},
                                               {53, 151, 143},
                                               {1, 102, 94}}};

QRgb between(const std::array<Anchor, 9>& anchors, double share) {
  const double at = share * static_cast<double>(anchors.size() - 1);
  const auto left = std::min(static_cast<std::size_t>(at), anchors.size() - 2);
  const double rest = at - static_cast<double>(left);
  std::array<int, 3> mixed{};
  for (std::size_t c = 0; c < 3; ++c)
    mixed[c] = static_cast<int>(std::lround(anchors[left][c] * (1 - rest) + anchors[left + 1][c] * rest));
  return qRgb(mixed[0], mixed[1], mixed[2]);
}

bool wantsDiverging(ColourMap map, const replay::ValueRange& range) {
  if (map == ColourMap::kAuto) return range.low < 0 && range.high > 0;
  return map == ColourMap::kDiverging;
}

replay::ValueRange centred(const replay::ValueRange& range) {
  if (range.empty()) return range;
  const double most = std::max(std::abs(range.low), std::abs(range.high));
  return {-most, most};
}

int colourOf(double value, const replay::ValueRange& range) {
  const double half = range.high / 2 - range.low / 2;  // the width itself may be beyond the largest double
  const double share = half > 0 ? (value / 2 - range.low / 2) / half : 0.5;
  return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (Picture::kColours - 1)));
}

int signalOf(double value) {
  if (std::isnan(value)) return Picture::kNan;
  return value > 0 ? Picture::kPosInf : Picture::kNegInf;
}

// Its mean, unless something in it is not finite: NaN before infinity, it says more.
double blockValue(const SideValues& values, const SlicePlane& plane, const PictureBlocks& blocks,
                  std::int64_t row, std::int64_t column) {
  const std::int64_t stride = plane.columnStride();
  const std::int64_t rowEnd = std::min(row + blocks.rowsPerPixel, blocks.rows);
  const std::int64_t columnEnd = std::min(column + blocks.columnsPerPixel, blocks.columns);
  const auto count = static_cast<double>((rowEnd - row) * (columnEnd - column));
  double mean = 0;
  std::optional<double> signal;
  for (std::int64_t r = row; r < rowEnd; ++r) {
    const std::int64_t start = plane.flatIndex(r, 0);
    for (std::int64_t c = column; c < columnEnd; ++c) {
      const double value = values.at(start + c * stride);
      if (std::isfinite(value))
        mean += value / count;
      else if (!signal || !std::isnan(*signal))
        signal = value;
    }
  }
  return signal.value_or(mean);
}

std::int64_t blockSize(std::int64_t elements, int pixels) {
  const std::int64_t most = std::clamp(pixels, 1, Picture::kMostSide);
  return std::max<std::int64_t>((elements + most - 1) / most, 1);
}

}  // namespace

PictureBlocks blocksOf(const SideValues& values, const SlicePlane& plane, QSize most,
                       const CancelToken& cancel) {
  PictureBlocks blocks;
  blocks.rows = plane.rows();
  blocks.columns = plane.columns();
  if (blocks.rows == 0 || blocks.columns == 0) return blocks;
  const QSize drawn = drawnSize(blocks.rows, blocks.columns, most);
  blocks.rowsPerPixel = blockSize(blocks.rows, drawn.height());
  blocks.columnsPerPixel = blockSize(blocks.columns, drawn.width());
  blocks.size =
      QSize(static_cast<int>((blocks.columns + blocks.columnsPerPixel - 1) / blocks.columnsPerPixel),
            static_cast<int>((blocks.rows + blocks.rowsPerPixel - 1) / blocks.rowsPerPixel));
  for (int y = 0; y < blocks.size.height() && !cancel.cancelled(); ++y) {
    for (int x = 0; x < blocks.size.width(); ++x) {
      const double value =
          blockValue(values, plane, blocks, y * blocks.rowsPerPixel, x * blocks.columnsPerPixel);
      if (std::isfinite(value)) blocks.range = blocks.range.with({value, value});
      blocks.values.push_back(value);
    }
  }
  return blocks;
}

Picture makePicture(const PictureBlocks& blocks, replay::ValueRange range, ColourMap map) {
  Picture picture;
  picture.rows = blocks.rows;
  picture.columns = blocks.columns;
  picture.rowsPerPixel = blocks.rowsPerPixel;
  picture.columnsPerPixel = blocks.columnsPerPixel;
  const auto pixels = static_cast<std::size_t>(std::max(blocks.size.width() * blocks.size.height(), 0));
  if (pixels == 0 || blocks.values.size() != pixels) return picture;  // empty, or cancelled on the way
  picture.diverging = wantsDiverging(map, range);
  picture.range = picture.diverging ? centred(range) : range;
  QImage image(blocks.size, QImage::Format_Indexed8);
  auto value = blocks.values.begin();
  for (int y = 0; y < image.height(); ++y) {
    uchar* line = image.scanLine(y);
    for (int x = 0; x < image.width(); ++x, ++value) {
      const bool finite = std::isfinite(*value);
      line[x] = static_cast<uchar>(finite ? colourOf(*value, picture.range) : signalOf(*value));
      if (finite) continue;
      ++picture.nonFinitePixels;
      if (picture.firstNonFinite.size() < kMostMarks) picture.firstNonFinite.emplace_back(x, y);
    }
  }
  picture.image = std::move(image);
  return picture;
}

QList<QRgb> colourTable(bool diverging, const SignalColours& signal) {
  QList<QRgb> table;
  for (int i = 0; i < Picture::kColours; ++i)
    table.append(between(diverging ? kDiverging : kSequential, i / double(Picture::kColours - 1)));
  return table << signal.nan.rgb() << signal.posInf.rgb() << signal.negInf.rgb();
}

QSize drawnSize(std::int64_t rows, std::int64_t columns, QSize place) {
  const double height = static_cast<double>(std::max<std::int64_t>(rows, 1));
  const double width = static_cast<double>(std::max<std::int64_t>(columns, 1));
  if (std::max(height / width, width / height) > kMostProportion) {
    const int thick = std::max(std::min(place.width(), place.height()) / 8, 8);
    return height > width ? QSize(std::min(thick, place.width()), place.height())
                          : QSize(place.width(), std::min(thick, place.height()));
  }
  const double scale = std::min(place.width() / width, place.height() / height);
  return {std::max(static_cast<int>(width * scale), 1), std::max(static_cast<int>(height * scale), 1)};
}

}  // namespace msdbg::app
