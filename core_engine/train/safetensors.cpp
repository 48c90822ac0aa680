#include "core_engine/train/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core_engine/tensor/file_bytes.h"

namespace msdbg::core {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8, kLongestHeader = 100'000'000;  // the format's own limit

constexpr std::pair<DType, std::string_view> kNames[] = {{DType::Float32, "F32"},
                                                         {DType::Float64, "F64"},
                                                         {DType::Int64, "I64"},
                                                         {DType::Int32, "I32"},
                                                         {DType::UInt8, "U8"},
                                                         {DType::Bool, "BOOL"},
                                                         {DType::Int8, "I8"},
                                                         {DType::Int16, "I16"},
                                                         {DType::UInt16, "U16"},
                                                         {DType::UInt32, "U32"},
                                                         {DType::UInt64, "U64"},
                                                         {DType::Float16, "F16"},
                                                         {DType::BFloat16, "BF16"},
                                                         {DType::Float8E4M3FN, "F8_E4M3"},
                                                         {DType::Float8E5M2, "F8_E5M2"},
                                                         {DType::Complex64, "C64"}};

Error damaged(const std::string& what) { return {ErrorCode::kDamaged, what}; }

Result<std::string_view> nameOf(DType dtype) {
  const auto found = std::ranges::find(kNames, dtype, &std::pair<DType, std::string_view>::first);
  if (found != std::end(kNames)) return found->second;
  return Error(ErrorCode::kUsage, "the format has no " + std::string(dtypeName(dtype)) +
                                      "; cast it to a dtype that it has, as float32");
}

Result<std::string> headerOf(const Arrays& tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    if (header.contains(name)) return Error(ErrorCode::kUsage, "there are two tensors " + name);
    const std::vector<std::int64_t> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
    const Result<std::string_view> dtype = nameOf(tensor.dtype());
    if (!dtype.ok()) return dtype.error().in(name);
    header[name] = {{"dtype", *dtype}, {"shape", dims}, {"data_offsets", {at, at + tensor.bytes()}}};
    at += tensor.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the values begin at a multiple of 8
  return text;
}

std::string littleEndian(std::uint64_t number) {
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  return bytes;
}

Status writeAll(const std::filesystem::path& path, const std::string& header, const Arrays& tensors) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << littleEndian(header.size()) << header;
  for (const auto& [name, tensor] : tensors)
    out.write(static_cast<const char*>(tensor.raw()), static_cast<std::streamsize>(tensor.bytes()));
  out.close();
  if (out) return Ok{};
  return Error(ErrorCode::kIo, "cannot be written: " + std::string(std::strerror(errno)));
}

struct Entry {
  std::string name = {};
  DType dtype = DType::Float32;
  Shape shape = {};
  std::uint64_t begin = 0, end = 0;
};

/// kDamaged: the JSON has not the members that the format says.
Result<Entry> entryOf(const std::string& name, const Json& json) {
  Entry entry{.name = name};
  const auto broken = [&] { return damaged(name + ": its entry in the header is damaged"); };
  const auto isCount = [](const Json& j) { return j.is_number_unsigned(); };
  const Json dtype = json.value("dtype", Json()), shape = json.value("shape", Json()),
             place = json.value("data_offsets", Json());
  if (!dtype.is_string() || !shape.is_array() || !place.is_array() || place.size() != 2 ||
      !std::ranges::all_of(shape, isCount) || !std::ranges::all_of(place, isCount))
    return broken();
  const auto known = std::ranges::find(kNames, std::string_view(dtype.get_ref<const std::string&>()),
                                       &std::pair<DType, std::string_view>::second);
  if (known == std::end(kNames))
    return Error(ErrorCode::kUnsupported,
                 name + " has dtype " + dtype.get<std::string>() + ", which msdbg does not know");
  entry.dtype = known->first;
  entry.begin = place[0].get<std::uint64_t>();
  entry.end = place[1].get<std::uint64_t>();
  std::uint64_t bytes = dtypeSize(entry.dtype);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 43;
  std::vector<std::int64_t> dims;
  for (const Json& dim : shape) {
    const auto size = dim.get<std::uint64_t>();
    if (size > kMost || (size > 0 && bytes > kMost / size)) return broken();
    bytes *= size;
    dims.push_back(static_cast<std::int64_t>(size));
  }
  entry.shape = Shape(std::move(dims));
  if (entry.end < entry.begin || entry.end - entry.begin != bytes)
    return damaged(name + " has " + entry.shape.text() + " elements in another number of bytes");
  return entry;
}

Result<std::vector<Entry>> entriesOf(const Json& header, std::uint64_t bytes) {
  if (!header.is_object()) return damaged("its header is no JSON object");
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") continue;
    if (!json.is_object()) return damaged(name + ": its entry in the header is damaged");
    MSDBG_ASSIGN(Entry entry, entryOf(name, json));
    entries.push_back(std::move(entry));
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) return damaged(entry.name + " does not begin where the tensor before it ends");
    at = entry.end;
  }
  if (at != bytes)
    return damaged("it has " + std::to_string(bytes) + " bytes of values, but its header promises " +
                   std::to_string(at));
  return entries;
}

Result<Arrays> readAll(const FileBytes& file) {
  std::string length(kLengthBytes, '\0');
  MSDBG_TRY(file.read(0, std::as_writable_bytes(std::span(length))));
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    size |= static_cast<std::uint64_t>(static_cast<unsigned char>(length[i])) << (8 * i);
  if (size > kLongestHeader || size > file.size() - kLengthBytes)
    return damaged("it is no safetensors file, or cut short");
  std::string text(size, '\0');
  MSDBG_TRY(file.read(kLengthBytes, std::as_writable_bytes(std::span(text))));
  const std::uint64_t begin = kLengthBytes + size;
  MSDBG_ASSIGN(const std::vector<Entry> entries,
               entriesOf(Json::parse(text, nullptr, false), file.size() - begin));
  Arrays tensors;
  for (const Entry& entry : entries) {
    Tensor tensor(entry.dtype, entry.shape);
    MSDBG_TRY(file.read(begin + entry.begin, tensor.byteSpan()));
    tidyBools(tensor);
    tensors.emplace_back(entry.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace

Status writeSafetensors(const std::filesystem::path& path, const Arrays& tensors,
                        const std::map<std::string, std::string>& metadata) {
  MSDBG_ASSIGN(const std::string header, headerOf(tensors, metadata));
  const std::filesystem::path fresh = path.string() + ".new";
  if (const Status written = writeAll(fresh, header, tensors); !written.ok())
    return written.error().in(fresh.string());
  std::error_code code;
  std::filesystem::rename(fresh, path, code);
  if (code) return Error(ErrorCode::kIo, path.string() + ": " + code.message());
  return Ok{};
}

Result<Arrays> readSafetensors(const std::filesystem::path& path) {
  MSDBG_ASSIGN(const FileBytes file, FileBytes::open(path));
  Result<Arrays> tensors = readAll(file);
  if (!tensors.ok()) return tensors.error().in(path.string());
  return tensors;
}

}  // namespace msdbg::core
