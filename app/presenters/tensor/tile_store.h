// TileStore: the tiles of one side that came, and those that were looked at but are not here. UI thread only.
#pragma once

#include <vector>

#include "app/presenters/tensor/tensor_jobs.h"

namespace msdbg::app {

class TileStore {
 public:
  static constexpr std::size_t kMostTiles = 256;  // 8 MB of doubles
  static constexpr std::size_t kMostWanted = 64;  // who scrolls fast wants only the last ones

  const core::Tensor* find(TileKey key) const {
    const auto found = m_tiles.find(key);
    return found == m_tiles.end() ? nullptr : &found->second;
  }
  /// True when the tile was not wanted before.
  bool want(TileKey key);
  const std::vector<TileKey>& wanted() const { return m_wanted; }
  void add(Tiles tiles);
  /// Forgets the values; what was seen last is wanted again.
  void renew();
  void clear();

 private:
  Tiles m_tiles;
  std::vector<TileKey> m_wanted;
  std::vector<TileKey> m_seen;  // of the last few answers
};

}  // namespace msdbg::app
