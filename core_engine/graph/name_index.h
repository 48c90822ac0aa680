// NameIndex: name -> place in a table that holds the names itself, which large graphs have no memory to keep
// twice. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace msdbg::core {

class NameIndex {
 public:
  void add(std::string_view name, std::int64_t place) {
    m_places.emplace(hashOf(name), static_cast<std::int32_t>(place));
  }
  void remove(std::string_view name, std::int64_t place) {
    const auto [begin, end] = m_places.equal_range(hashOf(name));
    for (auto at = begin; at != end; ++at)
      if (at->second == place) return void(m_places.erase(at));
  }
  /// The first place where `isNamed`; of the same name added several times the least.
  template <typename IsNamed>
  std::optional<std::int64_t> find(std::string_view name, const IsNamed& isNamed) const {
    std::optional<std::int64_t> found;
    const auto [begin, end] = m_places.equal_range(hashOf(name));
    for (auto at = begin; at != end; ++at)
      if ((!found || at->second < *found) && isNamed(at->second)) found = at->second;
    return found;
  }

 private:
  static std::size_t hashOf(std::string_view name) { return std::hash<std::string_view>()(name); }
  std::unordered_multimap<std::size_t, std::int32_t> m_places;  // walked by nobody
};

}  // namespace msdbg::core
