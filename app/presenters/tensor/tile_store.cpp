#include "app/presenters/tensor/tile_store.h"

#include <algorithm>

namespace msdbg::app {

bool TileStore::want(TileKey key) {
  if (std::ranges::find(m_wanted, key) != m_wanted.end()) return false;
  if (m_wanted.size() >= kMostWanted) m_wanted.erase(m_wanted.begin());
  m_wanted.push_back(key);
  return true;
}

void TileStore::add(Tiles tiles) {
  if (m_tiles.size() + tiles.size() > kMostTiles) m_tiles.clear();
  m_seen.clear();
  for (auto& [key, tile] : tiles) {
    std::erase(m_wanted, key);
    m_seen.push_back(key);
    m_tiles.insert_or_assign(key, std::move(tile));
  }
}

void TileStore::renew() {
  m_tiles.clear();
  m_wanted = m_seen;
}

void TileStore::clear() { *this = {}; }

}  // namespace msdbg::app
