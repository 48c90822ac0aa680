// Writes IDX files for tests, by the format's own description.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace msdbg::test {

inline std::string idxText(const std::vector<std::uint32_t>& dims, const std::string& bytes) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(dims.size())};
  for (const std::uint32_t dim : dims)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(dim >> shift & 255);
  return text + bytes;
}

inline void writeFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A set of `count` images of one colour each: image i has the value i (modulo 256) and the label i % 10.
inline void writePlainMnist(const std::filesystem::path& folder, std::uint32_t count,
                            std::uint32_t side = 4) {
  std::string pixels, labels;
  for (std::uint32_t i = 0; i < count; ++i) {
    pixels.append(std::size_t{side} * side, static_cast<char>(i));
    labels += static_cast<char>(i % 10);
  }
  writeFile(folder / "train-images-idx3-ubyte", idxText({count, side, side}, pixels));
  writeFile(folder / "train-labels-idx1-ubyte", idxText({count}, labels));
}

}  // namespace msdbg::test
