#include "app/presenters/tensor/picture.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace msdbg;
using namespace msdbg::app;

namespace {

const core::CancelToken kNever;

core::Tensor ramp(std::int64_t rows, std::int64_t columns) {
  core::Tensor tensor(core::DType::Float32, {rows, columns});
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
  return tensor;
}

Picture pictureOf(const core::Tensor& tensor, QSize most, ColourMap map = ColourMap::kAuto) {
  const SlicePlane plane(tensor.shape());
  const PictureBlocks blocks = blocksOf(SideValues(tensor), plane, most, kNever);
  return makePicture(blocks, blocks.range, map);
}

}  // namespace

TEST_CASE("A picture never loses a single NaN, wherever it is and however small the picture") {
  for (const std::int64_t at : {0L, 777L, 1'499'999L, 2'999'999L}) {
    core::Tensor tensor = ramp(3000, 1000);
    tensor.data<float>()[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
    for (const QSize most : {QSize(50, 60), QSize(333, 400), QSize(5000, 5000)}) {
      const Picture picture = pictureOf(tensor, most);
      CHECK(picture.image.width() <= Picture::kMostSide);
      CHECK(picture.image.height() <= Picture::kMostSide);
      CHECK(picture.image.width() <= most.width());
      CHECK(picture.image.height() <= most.height());
      REQUIRE(picture.nonFinitePixels == 1);
      const QPoint pixel(static_cast<int>(at % 1000 / picture.columnsPerPixel),
                         static_cast<int>(at / 1000 / picture.rowsPerPixel));
      CHECK(picture.firstNonFinite == std::vector<QPoint>{pixel});
      CHECK(picture.image.pixelIndex(pixel) == Picture::kNan);
    }
  }
}

TEST_CASE("A picture's colours go from the least to the greatest value, or around zero") {
  const Picture plain = pictureOf(ramp(2, 2), {100, 100});
  CHECK(!plain.diverging);
  CHECK(plain.image.pixelIndex(0, 0) == 0);
  CHECK(plain.image.pixelIndex(1, 1) == Picture::kColours - 1);
  core::Tensor signs = ramp(1, 3);
  signs.data<float>()[0] = -1;
  signs.data<float>()[1] = 0;
  signs.data<float>()[2] = 4;
  const Picture around = pictureOf(signs, {100, 100});
  CHECK(around.diverging);
  CHECK(around.range.low == -4);
  CHECK(std::abs(around.image.pixelIndex(1, 0) - Picture::kColours / 2) <= 1);
  CHECK(around.image.pixelIndex(2, 0) == Picture::kColours - 1);
  CHECK(!pictureOf(signs, {100, 100}, ColourMap::kSequential).diverging);
}

TEST_CASE("A picture of equal, huge or no finite values has colours too") {
  core::Tensor huge = ramp(1, 2);
  huge.data<float>()[0] = -std::numeric_limits<float>::max();
  huge.data<float>()[1] = std::numeric_limits<float>::max();
  CHECK(pictureOf(huge, {9, 9}).image.pixelIndex(0, 0) == 0);
  core::Tensor infinite = ramp(1, 2);
  infinite.data<float>()[0] = std::numeric_limits<float>::infinity();
  infinite.data<float>()[1] = -std::numeric_limits<float>::infinity();
  const Picture none = pictureOf(infinite, {9, 9});
  CHECK(none.range.empty());
  CHECK(none.image.pixelIndex(0, 0) == Picture::kPosInf);
  CHECK(none.image.pixelIndex(1, 0) == Picture::kNegInf);
  CHECK(pictureOf(core::Tensor::zeros(core::DType::Int64, {3, 3}), {9, 9}).image.size() == QSize(3, 3));
  CHECK(pictureOf(core::Tensor(core::DType::Float32, {0, 3}), {9, 9}).image.isNull());
}

TEST_CASE("A picture of blocks spans the range of their means, not of single elements") {
  const Picture picture = pictureOf(ramp(4, 40), {10, 10});  // a pixel is 4 x 4 elements
  CHECK(picture.image.width() == 10);
  REQUIRE(picture.image.height() == 1);
  CHECK(picture.range.low == Approx(60 + 1.5));
  CHECK(picture.range.high == Approx(60 + 37.5));
  CHECK(picture.image.pixelIndex(0, 0) == 0);
  CHECK(picture.image.pixelIndex(9, 0) == Picture::kColours - 1);
}

TEST_CASE("SlicePlane walks any two dimensions and says the slice as msdbg show takes it") {
  SlicePlane plane(core::Shape{2, 3, 4, 5});
  CHECK(plane.rows() == 4);
  CHECK(plane.columns() == 5);
  CHECK(plane.sliceText() == "0,0,:,:");
  plane.setIndex(0, 99);
  CHECK(plane.index(0) == 1);
  CHECK(plane.flatIndex(2, 3) == ((1 * 3 + 0) * 4 + 2) * 5 + 3);
  plane.setRowDimension(1);
  CHECK(plane.rows() == 3);
  CHECK(plane.sliceText() == "1,:,0,:");
  CHECK(plane.columnStride() == 1);
  plane.setRowDimension(3);  // swaps with the columns
  CHECK(plane.columnDimension() == 1);
  CHECK(plane.columnStride() == 20);
  plane.show(119);
  CHECK(plane.index(2) == 3);
  CHECK(plane.rowOf(119) == 4);
  CHECK(plane.columnOf(119) == 2);
  CHECK(plane.flatIndex(4, 2) == 119);
  CHECK(SlicePlane(core::Shape{}).rows() == 1);
  CHECK(SlicePlane(core::Shape{7}).rows() == 7);
  CHECK(SlicePlane(core::Shape{7}).columns() == 1);
  CHECK(SlicePlane(core::Shape{0, 7}).rows() == 0);
  CHECK(SlicePlane().rows() == 0);
}
