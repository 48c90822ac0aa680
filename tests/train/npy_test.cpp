// Readers of NumPy's files, with files that NumPy wrote (tests/data/arrays/make.py), torn and hostile ones.
#include "core_engine/train/npy.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/ops/samples.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::core;
using namespace msdbg::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

using List = std::vector<double>;

fs::path arrays(const char* name) { return sourceDir() / "tests/data/arrays" / name; }

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

template <typename T>
std::string errorOf(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().message();
}

const Tensor& named(const Arrays& arrays, const std::string& name) {
  for (const auto& [own, tensor] : arrays)
    if (own == name) return tensor;
  throw std::runtime_error("no array " + name);
}

const List kFloats{-0.5, -0.25, 0, 0.25, 0.5, 0.75};

std::string header(const std::string& descr, const std::string& shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
}

}  // namespace

TEST_CASE("An array that NumPy saved is read with its dtype, shape and values") {
  const Tensor floats = readNpy(arrays("floats.npy")).orThrow();
  CHECK(floats.dtype() == DType::Float32);
  CHECK(floats.shape() == Shape{2, 3});
  CHECK(valuesOf(floats) == kFloats);
}

TEST_CASE("An archive of numpy.savez is read, every dtype and a scalar, under the names that were given") {
  const Arrays all = readNpz(arrays("stored.npz")).orThrow();
  REQUIRE(all.size() == 7);
  CHECK(all[0].first == "x");
  CHECK(valuesOf(named(all, "x")) == kFloats);
  CHECK(named(all, "wide").dtype() == DType::Float64);
  CHECK(valuesOf(named(all, "wide")) == kFloats);
  CHECK(named(all, "label").dtype() == DType::Int64);
  CHECK(valuesOf(named(all, "label")) == List{3, -1});
  CHECK(named(all, "small").dtype() == DType::Int32);
  CHECK(valuesOf(named(all, "small")) == List{7, -8});
  CHECK(named(all, "bytes").dtype() == DType::UInt8);
  CHECK(valuesOf(named(all, "bytes")) == List{0, 255});
  CHECK(named(all, "mask").dtype() == DType::Bool);
  CHECK(valuesOf(named(all, "mask")) == List{1, 0, 1});
  CHECK(named(all, "scalar").shape() == Shape{});
  CHECK(named(all, "scalar").at(0) == 2.5);
}

TEST_CASE("Every dtype that NumPy and tensors have is read") {
  const Arrays all = readNpz(sourceDir() / "tests/data/dtypes/numpy.npz").orThrow();
  CHECK(all.size() == 14);
  for (const auto& [name, tensor] : all) {
    CAPTURE(name);
    CHECK(dtypeName(tensor.dtype()) == name);
    REQUIRE(tensor.elements() == 6);
    for (std::int64_t i = 0; i < 6; ++i) {
      const auto n = static_cast<double>(i - 3);
      const Complex128 z = tensor.complexAt(i);
      CHECK(z.real == (name == "bool" ? n > 0 : name.starts_with("u") ? n + 253 : n));
      CHECK(z.imag == (name.starts_with("complex") ? (-1 - n) / 2 : 0));
    }
  }
  const Tensor half = readNpy(arrays("half.npy")).orThrow();
  CHECK(half.dtype() == DType::Float16);
  CHECK(valuesOf(half.cast(DType::Float64)) == kFloats);
}

TEST_CASE("A compressed archive is read, and its arrays are a loader's") {
  Arrays all = readNpz(arrays("deflated.npz")).orThrow();
  CHECK(named(all, "images").shape() == Shape{4, 50, 10});
  CHECK(valuesOf(named(all, "images")) == List(2000, 0.0));
  const auto loader = makeArrayLoader(std::move(all), {.batch = 2, .shuffle = false}).orThrow();
  const Batch batch = loader->batch(Iteration{1}, Rank{0}, 1);
  CHECK(batch.find("images")->shape() == Shape{2, 50, 10});
  CHECK(valuesOf(*batch.find("label")) == List{2, 3});
}

TEST_CASE("Dtypes and orders that tensors have not are refused with the way out") {
  TempDir folder;
  write(folder / "big.npy", header(">f4", "(1,)") + std::string(4, '\0'));
  CHECK_THAT(errorOf(readNpy(folder / "big.npy")),
             Contains("big.npy") && Contains("'>f4'") && Contains("astype"));
  CHECK_THAT(errorOf(readNpy(arrays("fortran.npy"))),
             Contains("Fortran order") && Contains("ascontiguousarray"));
  CHECK_THAT(errorOf(readNpy(arrays("nothing.npy"))), Contains("nothing.npy"));
  CHECK(readNpy(arrays("nothing.npy")).error().code() == ErrorCode::kMissing);
}

TEST_CASE("A file that is cut short or of another kind is damage, wherever it is cut") {
  TempDir folder;
  for (const char* name : {"floats.npy", "stored.npz", "deflated.npz"}) {
    const std::string whole = contents(arrays(name));
    const bool archive = std::string(name).ends_with("npz");
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 16) {
      write(folder / name, whole.substr(0, size));
      CAPTURE(name, size);
      if (archive)
        CHECK_FALSE(readNpz(folder / name).ok());
      else
        CHECK_FALSE(readNpy(folder / name).ok());
    }
  }
  CHECK_THAT(errorOf(readNpy(arrays("make.py"))), Contains("no NPY file"));
  CHECK_THAT(errorOf(readNpz(arrays("floats.npy"))), Contains("no ZIP archive"));
}

TEST_CASE("A changed byte of an archive's values is found by its check sum") {
  TempDir folder;
  std::string bytes = contents(arrays("stored.npz"));
  const std::size_t at = bytes.find("NUMPY") + 130;  // in the values of x
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write(folder / "changed.npz", bytes);
  CHECK_THAT(errorOf(readNpz(folder / "changed.npz")), Contains("x: ") && Contains("check sum"));
}

TEST_CASE("What a header claims is never believed beyond the file's size") {
  TempDir folder;
  const auto refusal = [&](const std::string& bytes) {
    write(folder / "a.npy", bytes);
    return errorOf(readNpy(folder / "a.npy"));
  };
  CHECK_THAT(refusal(header("<f8", "(1000000000,)") + "12345678"), Contains("8 bytes of values"));
  CHECK_THAT(refusal(header("<f8", "(9999999999, 9999999999)")), Contains("shape"));
  CHECK_THAT(refusal(header("<f8", "(-3,)")), Contains("shape"));
  CHECK_THAT(refusal(header("<f8", "no")), Contains("no shape"));
  CHECK_THAT(refusal(header("|O", "(2,)")), Contains("'|O'"));
  CHECK(refusal(header("|b1", "(3,)") + std::string("\x00\x02\xff", 3)) == "no error");
  CHECK(valuesOf(readNpy(folder / "a.npy").orThrow()) == List{0, 1, 1});
}
