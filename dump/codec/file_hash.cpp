#include "dump/codec/file_hash.h"

#include <xxhash.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct Free {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// 16 bytes, low half first, little-endian: the order that core::hashBytes defines.
void addBlock(XXH3_state_t* outer, std::span<const std::byte> block) {
  const XXH128_hash_t hash = XXH3_128bits(block.data(), block.size());
  unsigned char bytes[16];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(hash.low64 >> 8 * i);
    bytes[8 + i] = static_cast<unsigned char>(hash.high64 >> 8 * i);
  }
  XXH3_128bits_update(outer, bytes, sizeof bytes);
}

}  // namespace

core::Result<std::string> hashFile(const std::filesystem::path& path, const core::CancelToken& cancel) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) return core::Error(core::ErrorCode::kMissing, "cannot read " + path.string());
  const std::unique_ptr<XXH3_state_t, Free> outer(XXH3_createState());
  XXH3_128bits_reset(outer.get());
  std::vector<std::byte> piece(64 * core::kBlockBytes);
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
    if (cancel.cancelled()) return core::Error(core::ErrorCode::kCancelled, "cancelled");
    for (std::size_t at = 0; at < got; at += core::kBlockBytes) {
      addBlock(outer.get(), std::span(piece).subspan(at, std::min(core::kBlockBytes, got - at)));
    }
  }
  if (std::ferror(file.get())) return core::Error(core::ErrorCode::kIo, "cannot read " + path.string());
  const XXH128_hash_t hash = XXH3_128bits_digest(outer.get());
  return core::Hash128{hash.low64, hash.high64}.text();
}

}  // namespace msdbg::dump
