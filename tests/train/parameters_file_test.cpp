// Safetensors and the parameters of a training in it: the format itself, a file of Python's package, and
// models.
#include "core_engine/train/parameters_file.h"

#include <signal.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/safetensors.h"
#include "tests/ops/samples.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using namespace msdbg::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

using List = std::vector<double>;

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A file of this header, taken as it is, and so many bytes.
std::string fileOf(const std::string& header, std::size_t bytes) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + std::string(bytes, '\1');
}

std::string errorOf(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  const auto read = readSafetensors(path);
  return read.ok() ? "no error" : read.error().message();
}

struct Net {
  Graph g{"net"};
  Value x = g.input("x", {4, 3}), label = g.input("label", {4}, DType::Int64), loss;
  explicit Net(std::int64_t width = 5) {
    Value h;
    {
      const Scope scope = g.scope("body");
      h = relu(batchNorm(linear(x, {.out = width})));
    }
    const Scope scope = g.scope("head");
    loss = softmaxCrossEntropy(linear(h, {.out = 2}), label);
  }
};

Batch batch(int shift = 0) {
  float rows[12];
  for (int i = 0; i < 12; ++i) rows[i] = static_cast<float>((i * 7 + shift) % 5) - 2;
  const std::int64_t labels[] = {0, 1, 1, 0};
  return {Iteration{0},
          {{"x", Tensor::of<float>({4, 3}, rows)}, {"label", Tensor::of<std::int64_t>({4}, labels)}}};
}

Hash128 hashOf(Trainer& trainer, const char* name) {
  return hashTensor(trainer.executor().value(trainer.graph().findTensor(name).value()));
}

const char* const kModelTensors[] = {"net/body/weight", "net/body/bias",         "net/body/scale",
                                     "net/body/bias2",  "net/body/running_mean", "net/body/running_var",
                                     "net/head/weight", "net/head/bias"};

}  // namespace

TEST_CASE("A safetensors file is eight bytes of length, a JSON header and the values without gaps") {
  TempDir folder;
  const Arrays tensors{{"b", tensorOf({2, 2}, {1, 2, 3, 4}, DType::Float32)}, {"a", labelsOf({-1, 7})}};
  REQUIRE(writeSafetensors(folder / "t.safetensors", tensors, {{"format", "msdbg"}}).ok());
  const std::string file = contents(folder / "t.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  CHECK(length % 8 == 0);
  REQUIRE(file.size() == 8 + length + 16 + 16);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  CHECK(header == nlohmann::json::parse(R"({"__metadata__": {"format": "msdbg"},
    "b": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
    "a": {"dtype": "I64", "shape": [2], "data_offsets": [16, 32]}})"));
  CHECK(file.substr(8 + length, 16) == std::string(static_cast<const char*>(tensors[0].second.raw()), 16));
  CHECK_FALSE(fs::exists(folder / "t.safetensors.new"));
}

TEST_CASE("What Python's package wrote is read: every dtype, shape and value") {
  const Arrays all = readSafetensors(sourceDir() / "tests/data/arrays/package.safetensors").orThrow();
  std::map<std::string, Tensor> named(all.begin(), all.end());
  REQUIRE(named.size() == 7);
  CHECK(named["x"].dtype() == DType::Float32);
  CHECK(named["x"].shape() == Shape{2, 3});
  CHECK(valuesOf(named["x"]) == List{-0.5, -0.25, 0, 0.25, 0.5, 0.75});
  CHECK(named["wide"].dtype() == DType::Float64);
  CHECK(valuesOf(named["label"]) == List{3, -1});
  CHECK(valuesOf(named["small"]) == List{7, -8});
  CHECK(valuesOf(named["bytes"]) == List{0, 255});
  CHECK(valuesOf(named["mask"]) == List{1, 0, 1});
  CHECK(named["scalar"].shape() == Shape{});
  CHECK(named["scalar"].at(0) == 2.5);
}

TEST_CASE("What is written is read again, bit for bit, in the same order") {
  TempDir folder;
  const Arrays tensors{{"z", tensorOf({3}, {0.1, -0.0, 1e300})},
                       {"empty", Tensor(DType::Float32, {0, 4})},
                       {"a b", tensorOf({1, 3}, {1, 0, 1}).cast(DType::Bool)}};
  REQUIRE(writeSafetensors(folder / "t.safetensors", tensors).ok());
  const Arrays again = readSafetensors(folder / "t.safetensors").orThrow();
  REQUIRE(again.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto found = std::ranges::find(again, tensors[i].first, &Arrays::value_type::first);
    REQUIRE(found != again.end());
    CHECK(sameBytes(found->second, tensors[i].second));
    CHECK(found->second.shape() == tensors[i].second.shape());
  }
}

TEST_CASE("Every dtype that the format has is written and read again; the others are refused by name") {
  TempDir folder;
  const fs::path path = folder / "t.safetensors";
  for (const DType dtype : kDTypes) {
    CAPTURE(dtypeName(dtype));
    const Arrays tensors{{"w", tensorOf({3}, {0, 1, 2}).cast(dtype)}};
    const Status written = writeSafetensors(path, tensors);
    const bool lacks =
        dtype == DType::Complex128 || dtype == DType::Float8E4M3FNUZ || dtype == DType::Float8E5M2FNUZ;
    REQUIRE(written.ok() == !lacks);
    if (lacks) {
      CHECK_THAT(written.error().message(), Contains("w: ") && Contains(std::string(dtypeName(dtype))));
      continue;
    }
    const Arrays again = readSafetensors(path).orThrow();
    CHECK(again[0].second.dtype() == dtype);
    CHECK(sameBytes(again[0].second, tensors[0].second));
  }
}

TEST_CASE("Damaged and hostile safetensors files are refused without believing them") {
  TempDir folder;
  const fs::path path = folder / "bad.safetensors";
  const auto entry = [](const char* dtype, const char* shape, const char* place) {
    return std::string("{\"w\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + place + "}}";
  };
  CHECK(errorOf(path, fileOf(entry("F32", "[2]", "[0,8]"), 8)) == "no error");
  CHECK_THAT(errorOf(path, ""), Contains("bad.safetensors"));
  CHECK_THAT(errorOf(path, fileOf(entry("F32", "[2]", "[0,8]"), 8).substr(0, 20)), Contains("cut short"));
  CHECK_THAT(errorOf(path, fileOf(entry("F32", "[2]", "[0,8]"), 7)),
             Contains("7 bytes") && Contains("promises 8"));
  CHECK_THAT(errorOf(path, fileOf(entry("F32", "[3]", "[0,8]"), 8)), Contains("w has [3]"));
  CHECK_THAT(errorOf(path, fileOf(entry("F32", "[2]", "[4,12]"), 12)), Contains("does not begin"));
  CHECK_THAT(errorOf(path, fileOf(entry("F32", "[4294967296,4294967296]", "[0,8]"), 8)), Contains("damaged"));
  CHECK_THAT(errorOf(path, fileOf(entry("F32", "[-2]", "[0,8]"), 8)), Contains("damaged"));
  CHECK_THAT(errorOf(path, fileOf(entry("F4", "[4]", "[0,2]"), 2)),
             Contains("F4") && Contains("does not know"));
  CHECK_THAT(errorOf(path, fileOf("[1]", 0)), Contains("no JSON object"));
  CHECK_THAT(errorOf(path, fileOf("{\"w\":3}", 0)), Contains("w: "));
  CHECK_THAT(errorOf(path, std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), Contains("cut short"));
}

TEST_CASE("Saved parameters begin another training: weights and running values, not the optimizer's states") {
  TempDir folder;
  PlainRun run;
  Net net, other;
  Trainer trainer(run, net.g, net.loss, Adam{.lr = 0.1});
  for (int i = 0; i < 3; ++i) trainer.step(batch(i));
  saveParameters(trainer, folder / "net.safetensors");
  const Arrays saved = readSafetensors(folder / "net.safetensors").orThrow();
  CHECK(saved.size() == std::size(kModelTensors));

  run.seedValue = 99;
  Trainer fresh(run, other.g, other.loss, Sgd{.lr = 0.1});
  CHECK(hashOf(fresh, "net/body/weight") != hashOf(trainer, "net/body/weight"));
  loadParameters(fresh, folder / "net.safetensors");
  for (const char* name : kModelTensors) {
    INFO(name);
    CHECK(hashOf(fresh, name) == hashOf(trainer, name));
  }
  CHECK(fresh.iteration() == Iteration{0});
  CHECK(fresh.step(batch(5)).loss == trainer.step(batch(5)).loss);
}

TEST_CASE("A glob loads a part; the rest stays as it was") {
  TempDir folder;
  PlainRun run;
  Net net, other;
  Trainer trainer(run, net.g, net.loss, Sgd{.lr = 0.1});
  saveParameters(trainer, folder / "net.safetensors");
  run.seedValue = 99;
  Trainer fresh(run, other.g, other.loss, Sgd{.lr = 0.1});
  const Hash128 head = hashOf(fresh, "net/head/weight");
  loadParameters(fresh, folder / "net.safetensors", {.only = "net/body/*"});
  CHECK(hashOf(fresh, "net/body/weight") == hashOf(trainer, "net/body/weight"));
  CHECK(hashOf(fresh, "net/head/weight") == head);
}

TEST_CASE("Parameters of another model are refused by name and shape, and nothing changes") {
  TempDir folder;
  PlainRun run;
  Net net, wide(6);
  Trainer trainer(run, net.g, net.loss, Sgd{.lr = 0.1}), other(run, wide.g, wide.loss, Sgd{.lr = 0.1});
  saveParameters(trainer, folder / "net.safetensors");
  const fs::path path = folder / "net.safetensors";
  const Hash128 head = hashOf(other, "net/head/bias");
  CHECK_THROWS_WITH(loadParameters(other, path), Contains("net.safetensors") && Contains("float32[5") &&
                                                     Contains("the model's is float32[6"));
  CHECK(hashOf(other, "net/head/bias") == head);
  CHECK_THROWS_WITH(loadParameters(trainer, path, {.only = "net/boddy/*"}), Contains("fits 'net/boddy/*'"));
  CHECK_THROWS_WITH(loadParameters(trainer, folder / "no.safetensors"), Contains("no.safetensors"));
  Arrays some = readSafetensors(path).orThrow();
  std::erase_if(some, [](const auto& t) { return t.first == "net/head/bias"; });
  REQUIRE(writeSafetensors(path, some).ok());
  CHECK_THROWS_WITH(loadParameters(trainer, path), Contains("it has no net/head/bias"));
  some.emplace_back("net/head/bias", Tensor(DType::Float32, {2}));
  some.emplace_back("net/tail/bias", Tensor(DType::Float32, {2}));
  REQUIRE(writeSafetensors(path, some).ok());
  CHECK_THROWS_WITH(loadParameters(trainer, path), Contains("it has net/tail/bias, which the model has not"));
}

TEST_CASE("Parameters that find no room leave the earlier file, and nothing beside it") {
  TempDir folder;
  PlainRun run;
  Net net;
  Trainer trainer(run, net.g, net.loss, Sgd{.lr = 0.1});
  const fs::path path = folder / "net.safetensors";
  saveParameters(trainer, path);
  const std::string before = contents(path);
  // Files may not grow beyond 16 bytes, as on a full disk.
  rlimit usual{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &usual) == 0);
  rlimit small = usual;
  small.rlim_cur = 16;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string said;
  try {
    saveParameters(trainer, path);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &usual);
  signal(SIGXFSZ, handler);
  CHECK_THAT(said, Contains("net.safetensors"));
  CHECK(contents(path) == before);
  CHECK_FALSE(fs::exists(path.string() + ".new"));
}
