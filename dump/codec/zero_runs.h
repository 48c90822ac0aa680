// ZeroRuns: writes a zstd frame of what is mostly zeros (behind Relu, MaxPool, dropout; masked attention)
// without looking for anything but zeros. zstd searches all bytes for what repeats, finds the zeros of
// floating-point noise and little else, and takes twice the time. Any zstd reads the frame. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace msdbg::dump {

class ZeroRuns {
 public:
  ZeroRuns();
  ~ZeroRuns();
  ZeroRuns(ZeroRuns&&) noexcept;

  /// Bytes written to `frame`. 0: runs of zeros are less than a third of the chunk, `frame` has no room for
  /// ZSTD_compressBound(chunk.size()), or zstd refused.
  std::size_t compress(std::span<const std::byte> chunk, std::span<std::byte> frame);

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
