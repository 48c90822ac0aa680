#include "dump/codec/file_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "core_engine/tensor/statistics.h"
#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

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
  const std::unique_ptr<XXH3_state_t, Free> outer(XXH3_createState());
  XXH3_128bits_reset(outer.get());
  MSDBG_TRY(readInPieces(path, 64 * core::kBlockBytes, [&](std::string_view piece) {
    const auto bytes = std::as_bytes(std::span(piece.data(), piece.size()));
    for (std::size_t at = 0; at < bytes.size(); at += core::kBlockBytes)
      addBlock(outer.get(), bytes.subspan(at, std::min(core::kBlockBytes, bytes.size() - at)));
    return !cancel.cancelled();
  }));
  if (cancel.cancelled()) return core::Error(core::ErrorCode::kCancelled, "cancelled");
  const XXH128_hash_t hash = XXH3_128bits_digest(outer.get());
  return core::Hash128{hash.low64, hash.high64}.text();
}

}  // namespace msdbg::dump
