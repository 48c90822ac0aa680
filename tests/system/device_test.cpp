// Training on a device as a user does it, on the emulated one: what is recorded, asked and proved is what the
// CPU's run gives, byte by byte; and what --backend says where there is no GPU.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

test::RunResult recorded(const std::filesystem::path& run, const std::string& backend, const Words& more) {
  Words words = {"dump",    "lenet5", "-o",      run.string(), "--backend", backend,
                 "--batch", "8",      "--steps", "4",          "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  const test::RunResult result = test::runMsdbg(words);
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  return result;
}

/// What the command says of the run, but for the run's name.
json asked(Words words) {
  words.emplace_back("--json");
  const test::RunResult result = test::runMsdbg(words);
  INFO(result.err);
  CHECK((result.exitStatus == 0 || result.exitStatus == 3));
  json document = json::parse(result.out);
  document.erase("run");
  return document;
}

const std::vector<Words> kPolicies = {
    {"--policy", "stats"},
    {"--policy", "full", "--checkpoint-every", "2", "--batches"},
    {"--policy", "full", "--on-hit", "recommended"},
    {"--policy", "stats", "--fault", "nan@iteration=2,node=network/conv2/Conv-op1"}};

}  // namespace

TEST_CASE("A run of a device holds what the CPU's holds") {
  const test::TempDir folder;
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    CAPTURE(kPolicies[i]);
    const auto cpu = folder.path() / ("cpu" + std::to_string(i) + ".msdbg"),
               device = folder.path() / ("device" + std::to_string(i) + ".msdbg");
    recorded(cpu, "cpu", kPolicies[i]);
    recorded(device, "emulated", kPolicies[i]);
    for (const Words& question : {Words{"stats", "*", "--tensor", "*"}, Words{"check", "*", "--all"},
                                  Words{"search", "*", "lenet5.cpp:20"}}) {
      Words onCpu = question, onDevice = question;
      onCpu[1] = cpu.string(), onDevice[1] = device.string();
      json there = asked(onCpu), here = asked(onDevice);
      if (question[0] == "search")  // kernels are others
        for (json* document : {&there, &here})
          for (json& node : (*document)["nodes"]) node.erase("kernels");
      CHECK((here == there));
    }
    CHECK(asked({"info", device.string()}).at("backend") == "emulated");
    CHECK(test::runMsdbg({"verify", device.string()}).exitStatus == 0);
  }
}

TEST_CASE("A run of a device is proved and computed again on it") {
  const test::TempDir folder;
  const auto run = folder.path() / "record.msdbg", full = folder.path() / "full.msdbg";
  recorded(run, "emulated", {"--policy", "record", "--checkpoint-every", "3"});
  recorded(full, "cpu", {"--policy", "full"});
  const json proof = asked({"replay", run.string(), "--prove"});
  CHECK(proof.at("equal") == true);
  CHECK(proof.at("otherwise_here").empty());
  const std::string tensor = "grad/network/conv1/ConvGradWeight-op1";
  const auto file = [&](const std::filesystem::path& of) {
    const auto npy = folder.path() / (of.stem().string() + ".npy");
    CHECK(test::runMsdbg({"show", of.string(), "--tensor", tensor, "--iteration", "2", "--npy", npy.string()})
              .exitStatus == 0);
    std::ostringstream bytes;
    bytes << std::ifstream(npy, std::ios::binary).rdbuf();
    return bytes.str();
  };
  CHECK(file(run) == file(full));
}

TEST_CASE("Two ranks share a device") {
  const test::TempDir folder;
  const auto cpu = folder.path() / "cpu.msdbg", device = folder.path() / "device.msdbg";
  recorded(cpu, "cpu", {"-n", "2", "--policy", "stats"});
  recorded(device, "emulated", {"-n", "2", "--policy", "stats"});
  CHECK((asked({"stats", cpu.string(), "--tensor", "*"}) ==
         asked({"stats", device.string(), "--tensor", "*"})));
}

TEST_CASE("A backend that is none, or not here, is refused before anything is written") {
  const test::TempDir folder;
  const std::string run = (folder.path() / "none.msdbg").string();
  const test::RunResult unknown = test::runMsdbg({"dump", "mlp", "-o", run, "--backend", "emulate"});
  CHECK(unknown.exitStatus == 2);
  CHECK_THAT(unknown.err, Contains("there is no backend 'emulate'; did you mean emulated?"));
  const test::RunResult cuda =
      test::runMsdbg({"dump", "mlp", "-o", run, "--backend", "cuda", "--steps", "1"});
  if (cuda.exitStatus != 0) {
    CHECK_THAT(cuda.err, Contains("msdbg: error: --backend cuda: ") && Contains("--backend emulated"));
    CHECK_FALSE(std::filesystem::exists(run));
  }
}

TEST_CASE("What a GPU has recorded is no false alarm where there is none") {
  const std::string run = (test::sourceDir() / "tests/data/run_cuda.msdbg").string();
  CHECK_THAT(test::runMsdbg({"info", run}).out, Contains("1 rank x 1 thread, on cuda (NVIDIA H200, sm_90)"));
  if (test::runMsdbg({"compile", "mlp", "--backend", "cuda"}).exitStatus == 0) return;  // here is one
  const test::RunResult proof = test::runMsdbg({"replay", run, "--prove"});
  CHECK_THAT(proof.out,
             Contains("this is another environment than the recorded one, so other bits prove nothing"));
  CHECK_THAT(proof.out, Contains("the backend cpu instead of cuda on NVIDIA H200, sm_90"));
  CHECK(test::runMsdbg({"replay", run, "--prove", "--strict"}).exitStatus == 4);
  // Up to the first product or convolution of many terms the kernels are ours, and give the GPU's bits.
  CHECK_THAT(proof.out, Contains("network/conv2/Conv-op1   iteration 0") &&
                            Contains("from inputs that are as recorded"));
  const test::RunResult why = test::runMsdbg({"why", run});
  CHECK_THAT(why.out, Contains("the backend cpu instead of cuda") && !Contains("memory or the machine"));
  const test::RunResult recheck = test::runMsdbg({"check", run, "-w", "kernel_mismatch"});
  CHECK(recheck.exitStatus == 4);
  CHECK_THAT(recheck.err, Contains("it is computed otherwise here"));
}

TEST_CASE("compile says what a device leaves to the host") {
  const json compiled = asked({"compile", "gpt", "--backend", "emulated"});
  std::set<std::string> types;
  for (const json& node : compiled.at("host_nodes"))
    if (!node.at("once").get<bool>()) types.insert(node.at("op_type").get<std::string>());
  CHECK((types == std::set<std::string>{"Gemm", "MatMul"}));
  CHECK(asked({"compile", "gpt"}).at("host_nodes").empty());
}
