#include "replay/tensor/value_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "core_engine/base/text.h"

namespace msdbg::replay {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Status;
using core::Tensor;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path userFolder() {
  if (const std::string own = variable("MSDBG_CACHE"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "msdbg";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "msdbg";
}

/// It becomes the name of a folder, and comes from a file of anybody's.
bool isId(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Error failed(const fs::path& path, const char* what) {
  return {ErrorCode::kIo, fmt::format("{}: cannot {}: {}", path.string(), what, std::strerror(errno))};
}

}  // namespace

core::Result<ValueCache> ValueCache::ofUser(const std::string& runId) {
  const fs::path folder = userFolder();
  std::uint64_t most = kMostBytes;
  if (const std::string size = variable("MSDBG_CACHE_SIZE"); !size.empty() && size != "0") {
    const core::Result<std::uint64_t> bytes = core::parseBytes(size);
    if (!bytes.ok()) return bytes.error().in("MSDBG_CACHE_SIZE");
    most = *bytes;
  } else if (size == "0") {
    most = 0;
  }
  if (folder.empty() || most == 0 || !isId(runId))
    return Error(ErrorCode::kUnavailable, "computed values are not kept");
  return ValueCache(folder / "values", runId, most);
}

ValueCache::ValueCache(fs::path folder, const std::string& runId, std::uint64_t mostBytes)
    : m_folder(std::move(folder)), m_ofRun(m_folder / runId), m_mostBytes(mostBytes) {}

fs::path ValueCache::fileOf(const core::Hash128& hash) const { return m_ofRun / hash.text(); }

std::optional<Tensor> ValueCache::find(const core::Hash128& hash, core::DType dtype,
                                       const core::Shape& shape) const {
  if (hash == core::Hash128() || !shape.known()) return std::nullopt;
  std::error_code error;
  const fs::path path = fileOf(hash);
  Tensor value(dtype, shape);
  if (fs::file_size(path, error) != value.bytes() || error) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(value.byteSpan().data()), static_cast<std::streamsize>(value.bytes()));
  if (!file || core::hashTensor(value) != hash) return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(),
                      error);  // used now; where that fails it goes sooner
  return value;
}

Status ValueCache::keep(const core::Hash128& hash, const Tensor& value) {
  std::error_code error;
  const fs::path path = fileOf(hash);
  if (hash == core::Hash128() || value.bytes() > m_mostBytes || fs::exists(path, error)) return Ok{};
  if (fs::create_directories(m_ofRun, error); error)
    return Error(ErrorCode::kIo, m_ofRun.string() + ": " + error.message());
  // What another process reads is whole; values are as private as the run they are of.
  fs::permissions(m_ofRun, fs::perms::owner_all, error);
  const fs::path fresh = fmt::format("{}.{}", path.string(), getpid());
  std::ofstream file(fresh, std::ios::binary);
  file.write(reinterpret_cast<const char*>(value.byteSpan().data()),
             static_cast<std::streamsize>(value.bytes()));
  file.close();
  if (!file) {
    const Error why = failed(fresh, "write");
    fs::remove(fresh, error);
    return why;
  }
  if (fs::rename(fresh, path, error); error)
    return Error(ErrorCode::kIo, path.string() + ": " + error.message());
  return Ok{};
}

void ValueCache::trim() const {
  struct File {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::uint64_t all = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(m_folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // by another process
    // Nothing but what keep() made, wherever the folder lies.
    const bool ours = isId(it->path().parent_path().filename()) && isId(it->path().stem());
    const bool regular = ours && it->is_regular_file(gone);
    const std::uint64_t bytes = regular ? it->file_size(gone) : 0;
    const fs::file_time_type used = regular ? it->last_write_time(gone) : fs::file_time_type();
    if (!regular || gone) continue;
    files.push_back({used, bytes, it->path()});
    all += bytes;
  }
  std::ranges::sort(files, {}, [](const File& file) { return std::pair(file.used, file.path.string()); });
  for (const File& file : files) {
    if (all <= m_mostBytes) break;
    if (fs::remove(file.path, error)) all -= file.bytes;
    fs::remove(file.path.parent_path(), error);  // where it was the last one
  }
}

}  // namespace msdbg::replay
