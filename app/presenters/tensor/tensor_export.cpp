#include "app/presenters/tensor/tensor_export.h"

#include <fmt/format.h>
#include <string.h>

#include <QImageWriter>
#include <algorithm>
#include <cerrno>
#include <fstream>

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Status;

namespace {

constexpr int kLeastPictureSide = 512;

Error cannotWrite(const fs::path& file, const std::string& reason) {
  return {ErrorCode::kIo, "cannot write " + file.string() + ": " + reason};
}

std::string csvRow(const SideValues& values, const SlicePlane& plane, std::int64_t row, core::Tensor& cell) {
  std::string line;
  for (std::int64_t column = 0; column < plane.columns(); ++column) {
    values.copy(plane.flatIndex(row, column), cell, 0);
    if (column) line += ',';
    line += replay::exactElementText(cell, 0);
  }
  return line += '\n';
}

}  // namespace

Status writeThenRename(const fs::path& file, const std::function<Status(const fs::path&)>& write) {
  fs::path temporary = file;
  temporary += ".part";
  std::error_code error, ignored;
  Status written = write(temporary);
  if (written.ok()) {
    fs::rename(temporary, file, error);
    if (error) written = cannotWrite(file, error.message());
  }
  if (!written.ok()) fs::remove(temporary, ignored);
  return written;
}

Status writeCsv(const fs::path& file, const SideValues& values, const SlicePlane& plane) {
  std::ofstream out(file, std::ios::binary);
  core::Tensor cell(values.dtype(), core::Shape{});
  for (std::int64_t row = 0; row < plane.rows() && out; ++row) out << csvRow(values, plane, row, cell);
  out.close();
  return out ? Status() : Status(cannotWrite(file, strerror(errno)));
}

Status writePng(const fs::path& file, const Picture& picture, const SignalColours& signal) {
  if (picture.image.isNull())
    return Error(ErrorCode::kUnavailable, "cannot write " + file.string() + ": there is no picture");
  QImage image = picture.image;
  image.setColorTable(colourTable(picture.diverging, signal));
  const int factor = std::max(kLeastPictureSide / std::max(image.width(), image.height()), 1);
  const QImage enlarged =
      image.convertToFormat(QImage::Format_RGB32).scaled(image.size() * factor, Qt::IgnoreAspectRatio);
  QImageWriter writer(QString::fromStdString(file.string()), "PNG");
  if (!writer.write(enlarged)) return cannotWrite(file, writer.errorString().toStdString());
  return core::Ok{};
}

}  // namespace msdbg::app
