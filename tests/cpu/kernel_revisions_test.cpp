// Who computes an iteration again asks whether a kernel is still the one that recorded it: its revision says
// so, and is worth nothing if somebody changes bits and forgets to raise it. tests/golden/kernel_bits.txt has
// the revision of every kernel of ours with a hash of what it computes; other bits under the same revision
// fail here. Kernels of libraries are told apart by version and implementation instead.
#include <gnu/libc-version.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/graph/init.h"
#include "core_engine/ops/functions.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "tests/ops/samples.h"
#include "tests/support/run_command.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

struct Bits {
  int revision = 0;
  std::string hash;
  bool operator==(const Bits&) const = default;
};
using Kernels = std::map<std::string, Bits>;

/// Reference kernels take exp, log and the like from libc, whose last bit is its own affair.
constexpr const char* kLibc = "2.36";

/// Elements enough that vector loops and their ends both run, where shapes are free to grow.
std::vector<Sample> withLargerOnes(const std::vector<Sample>& all) {
  std::vector<Sample> more = all;
  for (Sample sample : all) {
    const Shape first = sample.inputs.front().shape;
    const bool alike = sample.attributes.empty() && first.rank() > 0 &&
                       std::ranges::all_of(sample.inputs, [&](const SampleInput& input) {
                         return input.shape == first && input.fill != Fill::kRange;
                       });
    if (!alike) continue;
    for (SampleInput& input : sample.inputs) input.shape = {5, 77};
    more.push_back(std::move(sample));
  }
  return more;
}

/// nullopt: the operator takes no such inputs.
std::optional<SampleGraph> build(const Sample& sample, DType floating) {
  try {
    return buildSample(sample, floating);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string run(KernelImpl& kernel, const SampleGraph& sample) {
  std::vector<Tensor> outputs = makeOutputs(sample);
  std::vector<const Tensor*> in;
  std::vector<Tensor*> out;
  for (const Tensor& t : sample.values) in.push_back(&t);
  for (Tensor& t : outputs) out.push_back(&t);
  const RunState state{.iteration = Iteration(3), .seed = 11};
  const Status status = kernel.run({sample.graph->node(sample.node), in, out, state});
  if (!status.ok()) FAIL(kernel.name() << ": " << status.error().message());
  std::string hashes;
  for (const Tensor& t : outputs) hashes += hashTensor(t).text();
  return hashes;
}

Kernels computed() {
  const auto cpu = makeCpuBackend(), reference = makeReferenceBackend();
  std::map<std::string, std::string> hashes;
  Kernels kernels;
  for (const Sample& sample : withLargerOnes(samples()))
    for (const DType floating : {DType::Float32, DType::Float64}) {
      const auto built = build(sample, floating);
      if (!built) continue;
      const Node& node = built->graph->node(built->node);
      for (const auto& backend : {cpu.get(), reference.get()}) {
        const Backend::Answer answer = backend->compile(*built->graph, node, 1);
        if (!answer.kernel || answer.kernel->name().starts_with("dnnl:")) continue;
        hashes[answer.kernel->name()] += run(*answer.kernel, *built);
        kernels[answer.kernel->name()].revision = backend->revision(node.opType);
      }
    }
  for (auto& [name, bits] : kernels) {
    const std::string& all = hashes[name];
    bits.hash = hashBytes(std::as_bytes(std::span(all.data(), all.size()))).text();
  }
  return kernels;
}

std::filesystem::path goldenFile() { return sourceDir() / "tests/golden/kernel_bits.txt"; }

Kernels golden() {
  Kernels kernels;
  std::ifstream in(goldenFile());
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    Bits bits;
    if (!line.starts_with('#') && words >> name >> bits.revision >> bits.hash) kernels[name] = bits;
  }
  return kernels;
}

void writeGolden(const Kernels& kernels) {
  std::ofstream out(goldenFile());
  out << "# What each kernel of ours computes (tests/cpu/kernel_revisions_test.cpp): name, revision, hash of "
         "its "
         "bits.\n";
  for (const auto& [name, bits] : kernels) out << name << " " << bits.revision << " " << bits.hash << "\n";
}

}  // namespace

TEST_CASE("A kernel whose bits changed has another revision", "[kernel_revisions]") {
  const Kernels now = computed();
  for (const OpDef& op : allOps()) {
    CAPTURE(op.name);
    CHECK((!op.reference || now.contains("reference:" + std::string(op.name))));
  }
  CHECK(std::ranges::count_if(now, [](const auto& kernel) { return kernel.first.starts_with("cpu:"); }) > 40);
  if (std::getenv("MSDBG_UPDATE_GOLDEN")) writeGolden(now);
  const Kernels before = golden();
  const bool sameLibc = std::string(gnu_get_libc_version()) == kLibc;
  if (!sameLibc) WARN("reference kernels are not compared: their golden bits are of glibc " << kLibc);
  for (const auto& [name, bits] : now) {
    CAPTURE(name);
    const auto known = before.find(name);
    if (known == before.end()) {
      FAIL_CHECK("it is not in " << goldenFile() << "; MSDBG_UPDATE_GOLDEN=1 writes it anew");
      continue;
    }
    if (name.starts_with("reference:") && !sameLibc) continue;
    if (bits.revision == known->second.revision)
      CHECK(bits.hash == known->second.hash);  // else raise `revision` in its row, then MSDBG_UPDATE_GOLDEN=1
    else
      FAIL_CHECK("its revision was raised: MSDBG_UPDATE_GOLDEN=1 writes " << goldenFile() << " anew");
  }
  CHECK(now.size() == before.size());
}

TEST_CASE("Executed graphs say of each kernel which revision, and which code of a library, it is",
          "[kernel_revisions]") {
  Graph g("network");
  const Value x = g.input("x", {4, 8}), w = g.parameter("w", Shape{8, 3}, Init::kaimingNormal());
  reshape(relu(matmul(x, w)), {12});
  const auto executor = Executor::create(g, {.threads = 1}).orThrow();
  REQUIRE(g.kernels().size() == 3);
  for (const Kernel& kernel : g.kernels()) {
    CAPTURE(kernel.name);
    REQUIRE(kernel.revisions.size() == kernel.nodes.size());
    CHECK((kernel.revisions.front() == 0) == kernel.name.starts_with("view:"));
    CHECK(kernel.implementation.empty() != kernel.name.starts_with("dnnl:"));
  }
}
