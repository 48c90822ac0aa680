// A run must be readable without msdbg: by HDF5's own library calls, its command-line tools, and Debian's
// h5py.
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/dump/recorded_run.h"
#include "tests/support/run_command.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

fs::path recordLarge(const fs::path& folder) {
  test::record(folder / "run", test::smallGraph(true), {}, {.iterations = 3});
  return folder / "run/rank_0/segment_000000.h5";
}

test::RunOptions withPlugin() {
  return {.environment = {{"HDF5_PLUGIN_PATH", (test::buildDir() / "lib/msdbg/hdf5_plugin").string()}}};
}

bool missing(const std::string& tool) {
#ifdef MSDBG_SANITIZE
  WARN("skipped: a stock program cannot load a plugin that is built with a sanitizer");
  return true;
#endif
  if (test::runCommand({"/bin/sh", "-c", "command -v " + tool}).exitStatus == 0) return false;
  WARN("skipped: " << tool << " is not installed");
  return true;
}

template <typename T>
std::vector<T> readWithLibrary(const fs::path& file, const std::string& path, hid_t type) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t d = H5Dopen2(f, path.c_str(), H5P_DEFAULT);
  const hid_t s = H5Dget_space(d);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(s)));
  const bool read = H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  H5Sclose(s);
  H5Dclose(d);
  H5Fclose(f);
  REQUIRE(read);
  return values;
}

}  // namespace

TEST_CASE("HDF5's own H5Dread gives the recorded numbers of raw and of compressed tensors") {
  const test::TempDir folder;
  const fs::path segment = recordLarge(folder.path());  // this process has the filter registered
  const core::Graph graph = test::smallGraph(true);
  for (const std::string name : {"network/Sparse-op1:0", "network/Big-op1:0", "network/a/weight:0"}) {
    const auto values = readWithLibrary<float>(segment, "/tensor/" + name, H5T_NATIVE_FLOAT);
    const auto& info = graph.tensor(test::tensorNamed(graph, name));
    const auto row = static_cast<std::size_t>(info.shape.elements());
    REQUIRE(values.size() == 3 * row);
    for (std::size_t i = 0; i < 3; ++i) {
      const core::Tensor fed = test::valueOf(info, static_cast<std::int64_t>(i));
      CHECK(std::memcmp(&values[i * row], fed.raw(), fed.bytes()) == 0);
    }
  }
  CHECK(readWithLibrary<double>(segment, "/scalars/loss", H5T_NATIVE_DOUBLE) ==
        std::vector<double>{2.5, 1.25, 2.5 / 3});
  CHECK(readWithLibrary<std::int64_t>(segment, "/iteration/number", H5T_NATIVE_INT64) ==
        std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("h5ls lists a run and h5dump prints the recorded numbers through the filter plugin") {
  if (missing("h5ls") || missing("h5dump")) return;
  const test::TempDir folder;
  const fs::path segment = recordLarge(folder.path());
  const auto listing = test::runCommand({"h5ls", "-r", "-v", segment}, withPlugin());
  CHECK(listing.exitStatus == 0);
  CHECK_THAT(listing.out, Catch::Contains("/tensor/network/Sparse-op1:0") &&
                              Catch::Contains("Dataset {3/3, 200000/200000}"));
  CHECK_THAT(listing.out, Catch::Contains("32015"));
  const fs::path raw = folder / "values.bin";
  const auto dumped = test::runCommand(
      {"h5dump", "-d", "/tensor/network/Sparse-op1:0", "-b", "LE", "-o", raw, segment}, withPlugin());
  CHECK(dumped.exitStatus == 0);
  const core::Graph graph = test::smallGraph(true);
  const core::Tensor fed = test::valueOf(graph.tensor(test::tensorNamed(graph, "network/Sparse-op1:0")), 1);
  const std::string bytes = test::readText(raw);
  REQUIRE(bytes.size() == 3 * fed.bytes());
  CHECK(std::memcmp(bytes.data() + fed.bytes(), fed.raw(), fed.bytes()) == 0);
}

TEST_CASE("Debian's h5py reads a run through the filter plugin and finds the same numbers") {
  if (missing("/usr/bin/python3")) return;
  if (test::runCommand({"/usr/bin/python3", "-c", "import h5py"}).exitStatus != 0) {
    WARN("skipped: python3-h5py is not installed");
    return;
  }
  const test::TempDir folder;
  const fs::path segment = recordLarge(folder.path());
  const std::string script = R"(
import sys, json, h5py
f = h5py.File(sys.argv[1], "r")
t = f["/tensor/network/Sparse-op1:0"]
names = [n.decode() for n in f["/statistics/tensor"][:]]
c = names.index("network/Sparse-op1:0")
print(json.dumps({
  "iterations": [int(i) for i in t.attrs["iterations"]],
  "values": [float(v) for v in t[2, 1000:1100]],
  "mask": str(f["/tensor/network/Mask-op1:0"].attrs["dtype"].decode()),
  "mean": float(f["/statistics/mean"][2, c]),
  "computed": float(t[2].astype("float64").mean()),
  "count": int(f["/statistics/count"][2, c]),
}))
)";
  const auto result = test::runCommand({"/usr/bin/python3", "-c", script, segment}, withPlugin());
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  const auto json = nlohmann::json::parse(result.out);
  const core::Graph graph = test::smallGraph(true);
  const core::Tensor fed = test::valueOf(graph.tensor(test::tensorNamed(graph, "network/Sparse-op1:0")), 2);
  CHECK(json.at("iterations") == std::vector<int>{0, 1, 2});
  for (std::size_t i = 0; i < 100; ++i) CHECK(json.at("values")[i] == fed.data<float>()[1000 + i]);
  CHECK(json.at("mask") == "bool");
  CHECK(json.at("count") == 200000);
  CHECK(json.at("mean").get<double>() == Approx(json.at("computed").get<double>()).epsilon(1e-9));
}

TEST_CASE("The filter plugin does not link libhdf5") {
  if (missing("readelf")) return;
  for (const auto& entry : fs::directory_iterator(test::buildDir() / "lib/msdbg/hdf5_plugin")) {
    const auto needed = test::runCommand({"readelf", "-d", entry.path()});
    CHECK(needed.exitStatus == 0);
    CHECK_THAT(needed.out, !Catch::Contains("hdf5]") && !Catch::Contains("libhdf5"));
    CHECK_THAT(needed.out, Catch::Contains("libzstd"));
  }
}
