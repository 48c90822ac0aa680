// StoredBytes: what the data region of a file holds already, so that the same bytes are written once: chunks,
// and whole values by the chunks that were made of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {

/// One chunk as it will lie in the file.
struct StoredChunk {
  std::vector<std::byte> own;          // compressed or filled up; empty: `bytes` lies in the row's own copy
  std::span<const std::byte> bytes;    // no data: it lies in the row's file
  std::uint64_t size = 0, offset = 0;  // stored bytes; where in the row's file
  std::uint32_t filterMask = 0;
  core::Hash128 hash;
  std::vector<core::Hash128> blocks;  // what the hash is made of
};

struct StoredValue {
  std::uint64_t largestChunk = 0;
  std::vector<StoredChunk> chunks;  // without bytes
};

class StoredBytes {
 public:
  /// Where such a chunk lies.
  std::optional<std::uint64_t> chunk(const core::Hash128& hash, std::uint64_t size) const {
    const auto found = m_chunks.find({hash.low, hash.high, size});
    return found == m_chunks.end() ? std::nullopt : std::optional(found->second);
  }
  void addChunk(const core::Hash128& hash, std::uint64_t size, std::uint64_t offset) {
    m_chunks[{hash.low, hash.high, size}] = offset;
  }

  /// Values of other dtypes and shapes have other chunks.
  struct ValueKey {
    core::Hash128 hash;
    core::DType dtype;
    std::vector<std::uint64_t> shape;
    bool operator<(const ValueKey& other) const {
      return std::tie(hash.low, hash.high, dtype, shape) <
             std::tie(other.hash.low, other.hash.high, other.dtype, other.shape);
    }
  };
  /// nullptr: there is none.
  const StoredValue* value(const ValueKey& key) const {
    const auto found = m_values.find(key);
    return found == m_values.end() ? nullptr : &found->second;
  }
  void addValue(ValueKey key, StoredValue value) { m_values[std::move(key)] = std::move(value); }

 private:
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> m_chunks;  // -> offset
  std::map<ValueKey, StoredValue> m_values;
};

}  // namespace msdbg::dump
