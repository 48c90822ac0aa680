// How much of a slow property is looked at: a fresh draw each time, all of it by `./dev test all`.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace msdbg::test {

/// Whether everything is to be looked at (MSDBG_TEST_ALL, which `./dev test all` sets).
inline bool testAll() { return std::getenv("MSDBG_TEST_ALL") != nullptr; }

/// The seed of what is drawn here, printed; MSDBG_TEST_SEED=N draws the same again.
inline std::uint64_t drawnSeed(const std::string& what) {
  const char* given = std::getenv("MSDBG_TEST_SEED");
  const std::uint64_t seed = given ? std::stoull(given) : std::random_device()();
  std::cout << what << ": drawn with MSDBG_TEST_SEED=" << seed << std::endl;
  return seed;
}

}  // namespace msdbg::test
