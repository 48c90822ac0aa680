#include "dump/codec/codec.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "dump/codec/zero_runs.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kSample = 64u << 10;

core::Error damaged(const char* what) { return {core::ErrorCode::kDamaged, what}; }

bool pays(std::uint64_t raw, std::uint64_t packed, double gain) {
  return packed > 0 && static_cast<double>(raw) >= gain * static_cast<double>(packed);
}

}  // namespace

void CompressionTrial::gained(std::uint64_t raw, std::uint64_t stored) {
  if (!dump::pays(raw, stored, Compressor::kStillWorthTrying))
    *this = {.pays = false, .bytesLeft = Compressor::kPause};
}

struct Compressor::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ZeroRuns zeroRuns;
  ~Context() { ZSTD_freeCCtx(zstd); }
};

Compressor::Compressor() : m_context(std::make_unique<Context>()) {}
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;

std::size_t Compressor::frame(std::span<const std::byte> chunk) {
  m_frame.resize(std::max(m_frame.size(), ZSTD_compressBound(chunk.size())));
  if (const std::size_t used = m_context->zeroRuns.compress(chunk, m_frame)) return used;
  const std::size_t used =
      ZSTD_compressCCtx(m_context->zstd, m_frame.data(), m_frame.size(), chunk.data(), chunk.size(), kLevel);
  return ZSTD_isError(used) ? 0 : used;
}

// Of the middle: the beginning is often special (padding, first rows).
bool Compressor::judge(std::span<const std::byte> bytes, CompressionTrial& trial) {
  if (trial.bytesLeft >= bytes.size()) {
    trial.bytesLeft -= bytes.size();
    return trial.pays;
  }
  const std::size_t sample = std::min(bytes.size(), kSample);
  const std::size_t used = frame(bytes.subspan((bytes.size() - sample) / 2, sample));
  trial.pays = pays(sample, used, trial.pays ? kStillWorthTrying : kWorthTrying);
  trial.bytesLeft = kPause;
  return trial.pays;
}

bool Compressor::compress(std::span<const std::byte> chunk, std::vector<std::byte>& stored) {
  const std::size_t used = frame(chunk);
  if (!pays(chunk.size(), used, kWorthwhile)) return false;
  stored.assign(m_frame.begin(), m_frame.begin() + static_cast<std::ptrdiff_t>(used));
  return true;
}

core::Status decodeChunk(std::span<const std::byte> stored, bool shuffled, bool compressed,
                         std::size_t elementBytes, std::span<std::byte> chunk) {
  std::vector<std::byte> scratch;
  if (compressed) {
    if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != chunk.size())
      return damaged("a frame of another size");
    std::span<std::byte> into = chunk;
    if (shuffled) {
      scratch.resize(chunk.size());
      into = scratch;
    }
    const std::size_t used = ZSTD_decompress(into.data(), into.size(), stored.data(), stored.size());
    if (ZSTD_isError(used) || used != chunk.size()) return damaged("zstd cannot decode it");
    stored = into;
  }
  if (stored.size() != chunk.size()) return damaged("a chunk of another size");
  if (shuffled) {
    unshuffle(stored, elementBytes, chunk);
  } else if (stored.data() != chunk.data()) {
    std::memcpy(chunk.data(), stored.data(), chunk.size());
  }
  return core::Ok{};
}

}  // namespace msdbg::dump
