#include "core_engine/tensor/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core_engine/tensor/file_bytes.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 1 << 16;

Error damaged(const std::string& what) { return {ErrorCode::kDamaged, what}; }

struct NpyHeader {
  DType dtype = DType::Float32;
  Shape shape;
  std::size_t size = 0;  // bytes before the values
};

/// The text behind "'key':" in the header's dictionary; "" where it is not there.
std::string_view valueOf(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return "";
  std::string_view value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

Result<DType> dtypeOf(std::string_view descr) {
  constexpr std::pair<std::string_view, DType> kKnown[] = {
      {"'<f4'", DType::Float32},   {"'<f8'", DType::Float64},    {"'<i8'", DType::Int64},
      {"'<i4'", DType::Int32},     {"'|u1'", DType::UInt8},      {"'|b1'", DType::Bool},
      {"'|i1'", DType::Int8},      {"'<i2'", DType::Int16},      {"'<u2'", DType::UInt16},
      {"'<u4'", DType::UInt32},    {"'<u8'", DType::UInt64},     {"'<f2'", DType::Float16},
      {"'<c8'", DType::Complex64}, {"'<c16'", DType::Complex128}};
  for (const auto& [text, dtype] : kKnown)
    if (descr.starts_with(text)) return dtype;
  const std::string_view shown = descr.substr(0, std::min(descr.find(','), descr.size()));
  return Error(ErrorCode::kUnsupported, "has dtype " + std::string(shown) +
                                            ", but integers, bool, float16 to float64 or complex numbers, "
                                            "little-endian, are needed; convert it "
                                            "with astype");
}

/// "(3, 4), …": a tuple of numbers.
Result<Shape> shapeOf(std::string_view text) {
  const std::size_t end = text.find(')');
  if (!text.starts_with("(") || end == std::string_view::npos) return damaged("its header has no shape");
  std::vector<std::int64_t> dims;
  std::int64_t elements = 1;
  for (const char *at = text.data() + 1, *last = text.data() + end; at < last;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, last, dim);
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (error != std::errc() || dim < 0 || dim > kMost || (dim > 0 && elements > kMost / dim))
      return damaged("its header's shape " + std::string(text.substr(0, end + 1)) + " is none");
    elements *= dim;
    dims.push_back(dim);
    at = next;
  }
  return Shape(std::move(dims));
}

/// Of a file that begins with `bytes`: kLongestHeader of them, or all.
Result<NpyHeader> parseHeader(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return damaged("is no NPY file");
  const auto at = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const bool wide = at(6) > 1;  // version 2 on: four bytes of length
  const std::size_t begin = wide ? 12 : 10;
  const std::size_t length = at(8) + (at(9) << 8) + (wide ? (at(10) << 16) + (at(11) << 24) : 0);
  if (length > bytes.size() - begin) return damaged("ends within its header, or has none");
  const std::string_view text = bytes.substr(begin, length);
  NpyHeader header;
  MSDBG_ASSIGN(header.dtype, dtypeOf(valueOf(text, "descr")));
  if (!valueOf(text, "fortran_order").starts_with("False"))
    return Error(ErrorCode::kUnsupported, "is in Fortran order; save numpy.ascontiguousarray of it");
  MSDBG_ASSIGN(header.shape, shapeOf(valueOf(text, "shape")));
  header.size = begin + length;
  return header;
}

/// `fill(first byte, span)` reads the values.
template <typename Fill>
Result<Tensor> readValues(const NpyHeader& header, std::uint64_t fileSize, const Fill& fill) {
  const auto bytes = static_cast<std::uint64_t>(header.shape.elements()) * dtypeSize(header.dtype);
  if (fileSize < header.size || fileSize - header.size != bytes)
    return damaged("has " + std::to_string(fileSize - std::min<std::uint64_t>(fileSize, header.size)) +
                   " bytes of values, but its header promises " + std::to_string(bytes));
  Tensor tensor(header.dtype, header.shape);
  MSDBG_TRY(fill(header.size, tensor.byteSpan()));
  tidyBools(tensor);
  return tensor;
}

Result<Tensor> readFile(const FileBytes& file) {
  std::string begin(std::min<std::uint64_t>(file.size(), kLongestHeader), '\0');
  MSDBG_TRY(file.read(0, std::as_writable_bytes(std::span(begin))));
  MSDBG_ASSIGN(const NpyHeader header, parseHeader(begin));
  return readValues(header, file.size(),
                    [&](std::uint64_t from, std::span<std::byte> to) { return file.read(from, to); });
}

}  // namespace

Result<Tensor> readNpy(const std::filesystem::path& path) {
  MSDBG_ASSIGN(const FileBytes file, FileBytes::open(path));
  Result<Tensor> values = readFile(file);
  if (!values.ok()) return values.error().in(path.string());
  return values;
}

Result<Tensor> npyTensor(std::string_view bytes) {
  MSDBG_ASSIGN(const NpyHeader header, parseHeader(bytes));
  return readValues(header, bytes.size(), [&](std::uint64_t from, std::span<std::byte> to) -> Status {
    std::memcpy(to.data(), bytes.data() + from, to.size());
    return Ok{};
  });
}

}  // namespace msdbg::core
