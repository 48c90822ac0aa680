// What nvcc makes of the kernels: nothing that could give other bits than the CPU's, or other bits each time.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <regex>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

using Instructions = std::map<std::string, std::vector<std::string>>;  // by kernel

/// Those that match, of each kernel.
Instructions instructionsOf(const std::filesystem::path& ptx, const std::regex& wanted) {
  static const std::regex kEntry(R"(\.entry (\w+))"), kInstruction(R"(^\s+(?:@!?%p\d+\s+)?([a-z][\w.]+)\s)");
  Instructions found;
  std::string kernel;
  std::ifstream in(ptx);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kEntry)) kernel = match[1];
    if (!std::regex_search(line, match, kInstruction)) continue;
    const std::string instruction = match[1];
    if (std::regex_search(instruction, wanted)) found[kernel].push_back(instruction);
  }
  return found;
}

}  // namespace

TEST_CASE("Kernels for GPUs are compiled without contraction, approximations and atomic sums", "[slow]") {
  const TempDir folder;
  const auto ptx = folder.path() / "kernels.ptx";
  RunOptions options;
  options.timeout = std::chrono::seconds(300);
  const RunResult compiled =
      runCommand({"bash", "-c",
                  "command -v nvcc >/dev/null || exit 77; cd '" + sourceDir().string() +
                      "' && nvcc -std=c++20 --fmad=false --ftz=false --prec-div=true --prec-sqrt=true "
                      "--expt-relaxed-constexpr "
                      "-arch=compute_90 -ptx -I. core_engine/cuda/kernels.cu -o '" +
                      ptx.string() + "'"},
                 options);
  if (compiled.exitStatus == 77) {
    WARN("there is no nvcc here");
    return;
  }
  INFO(compiled.err);
  REQUIRE(compiled.exitStatus == 0);
  CHECK(instructionsOf(ptx, std::regex(R"(^(mul|add|div|sqrt)\.)")).size() > 30);
  CHECK(instructionsOf(ptx, std::regex(R"(approx|ftz|\.full|^red\.|^mad\..*\.f(32|64)$)")).empty());
  // Spelled out: x * 0 + 0 is NaN where x is not finite; and units are counted in integers, whose sum has no
  // order.
  for (const auto& [kernel, all] : instructionsOf(ptx, std::regex(R"(^fma\.|^atom\.)"))) {
    CAPTURE(kernel);
    CHECK(kernel.starts_with("msdbg_statistics"));
    for (const std::string& instruction : all)
      CHECK((instruction == "fma.rn.f32" || instruction == "atom.add.u64"));
  }
}

}  // namespace msdbg::test
