#include "replay/npy.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace msdbg::replay {

using core::DType;
using core::Tensor;

namespace {

std::string_view npyType(DType dtype) {
  switch (dtype) {
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
    case DType::Float32:
      break;
  }
  return "<f4";
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

core::Status writeNpy(const std::filesystem::path& file, const Tensor& tensor) {
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
