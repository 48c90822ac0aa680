// Picture: a plane of a tensor as an image of colour numbers. A pixel stands for one element or for a block
// of them; a block with a NaN or an infinity shows that, so none is ever lost. Colours are chosen where it is
// drawn (light or dark). blocksOf and makePicture are pure and belong on the replay thread; the rest is
// cheap.
#pragma once

#include <QColor>
#include <QImage>
#include <QPoint>
#include <QSize>
#include <vector>

#include "app/presenters/tensor/side_values.h"
#include "app/presenters/tensor/slice_plane.h"
#include "core_engine/base/cancel.h"
#include "replay/inspect.h"

namespace msdbg::app {

enum class ColourMap { kAuto, kSequential, kDiverging };  // auto: diverging where both signs are

struct Picture {
  // Colour numbers: 0 … kColours-1 from low to high, then these.
  static constexpr int kColours = 250, kNan = 250, kPosInf = 251, kNegInf = 252;
  static constexpr int kMostSide = 1024;

  QImage image;                        // Format_Indexed8 without a colour table; null: nothing to see
  std::int64_t rows = 0, columns = 0;  // of the plane
  std::int64_t rowsPerPixel = 1, columnsPerPixel = 1;
  replay::ValueRange range;  // what the first and the last colour mean
  bool diverging = false;    // then the range is symmetric around 0
  std::int64_t nonFinitePixels = 0;
  std::vector<QPoint> firstNonFinite;  // a few, to be marked: one pixel is easily overlooked
};

/// What the pixels of a plane stand for: the mean of a block, or NaN or an infinity where one is in it.
struct PictureBlocks {
  std::int64_t rows = 0, columns = 0;  // of the plane
  std::int64_t rowsPerPixel = 1, columnsPerPixel = 1;
  QSize size;
  std::vector<double> values;  // line by line
  replay::ValueRange range;    // of those that are finite
};
PictureBlocks blocksOf(const SideValues& values, const SlicePlane& plane, QSize most,
                       const core::CancelToken& cancel);
Picture makePicture(const PictureBlocks& blocks, replay::ValueRange range, ColourMap map);

/// What the colour numbers look like; nan and inf are the window's own signal colours.
struct SignalColours {
  QColor nan, posInf, negInf;
};
QList<QRgb> colourTable(bool diverging, const SignalColours& signal);

/// The size a plane is drawn at in a place of the given size: its own proportions, unless it is so long that
/// it would become a line.
QSize drawnSize(std::int64_t rows, std::int64_t columns, QSize place);

}  // namespace msdbg::app
