// What libFuzzer calls; MSDBG_FUZZ_TARGET is the function that this program fuzzes.
#include <cstdint>

#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  msdbg::fuzz::MSDBG_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
