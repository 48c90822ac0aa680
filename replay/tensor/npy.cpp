#include "replay/npy.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace msdbg::replay {

using core::DType;
using core::Tensor;

namespace {

/// Of what NumPy has; "" of other dtypes.
std::string_view npyType(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return "<f4";
    case DType::Float64:
      return "<f8";
    case DType::Int64:
      return "<i8";
    case DType::Int32:
      return "<i4";
    case DType::UInt8:
      return "|u1";
    case DType::Bool:
      return "|b1";
    case DType::Int8:
      return "|i1";
    case DType::Int16:
      return "<i2";
    case DType::UInt16:
      return "<u2";
    case DType::UInt32:
      return "<u4";
    case DType::UInt64:
      return "<u8";
    case DType::Float16:
      return "<f2";
    case DType::Complex64:
      return "<c8";
    case DType::Complex128:
      return "<c16";
    case DType::BFloat16:
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
    case DType::Unsupported:
      break;
  }
  return "";
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0
std::string npyHeader(const Tensor& tensor) {
  std::string shape;
  for (const std::int64_t dim : tensor.shape().dims()) shape += std::to_string(dim) + ",";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 npyType(tensor.dtype()), shape);
  constexpr std::size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

DType npyDType(DType dtype) { return npyType(dtype).empty() ? DType::Float32 : dtype; }

std::string npyNote(DType dtype) {
  const DType written = npyDType(dtype);
  if (written == dtype) return "";
  return fmt::format(" as {}: NumPy has no {}", core::dtypeName(written), core::dtypeName(dtype));
}

core::Status writeNpy(const std::filesystem::path& file, const Tensor& given) {
  const DType dtype = npyDType(given.dtype());
  const Tensor tensor = dtype == given.dtype() ? given : given.cast(dtype);
  std::ofstream out(file, std::ios::binary);
  const std::string header = npyHeader(tensor);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  out.write(static_cast<const char*>(tensor.raw()), static_cast<std::streamsize>(tensor.bytes()));
  out.close();
  if (!out)
    return core::Error(core::ErrorCode::kIo,
                       fmt::format("cannot write {}: {}", file.string(), strerror(errno)));
  return core::Ok{};
}

}  // namespace msdbg::replay
