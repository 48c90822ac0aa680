// Every dtype in a recording: read back, read by h5py, merged; and dtypes that this msdbg does not know, in
// the graph or in a file, which cost that tensor's values and nothing else.
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core_engine/graph/graph_io.h"
#include "dump/writer/background_merge.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using Catch::Matchers::Contains;
using core::DType;
namespace fs = std::filesystem;

namespace {

const core::Rank kRank0{0};

core::Iteration at(std::int64_t iteration) { return core::Iteration(iteration); }

std::string textOf(const std::vector<dump::Damage>& damage) {
  std::string text;
  for (const dump::Damage& each : damage) text += each.where + ": " + each.what + "\n";
  return text;
}

/// The dataset again, chunk for chunk, with elements of another type of the same size.
void retype(const fs::path& segment, const std::string& path, hid_t type) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  const hid_t file = H5Fopen(segment.c_str(), H5F_ACC_RDWR, access);
  const hid_t old = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  const hid_t iterations = H5Aopen(old, "iterations", H5P_DEFAULT);
  std::int64_t iteration = -1;
  REQUIRE(H5Aread(iterations, H5T_NATIVE_INT64, &iteration) >= 0);
  const hsize_t offset[] = {0, 0, 0};
  hsize_t size = 0;
  REQUIRE(H5Dget_chunk_storage_size(old, offset, &size) >= 0);
  std::vector<char> chunk(size);
  std::uint32_t mask = 0;
  REQUIRE(H5Dread_chunk(old, H5P_DEFAULT, offset, &mask, chunk.data()) >= 0);
  const hid_t list = H5Dget_create_plist(old), space = H5Dget_space(old), one = H5Aget_space(iterations);
  H5Aclose(iterations);
  H5Dclose(old);
  REQUIRE(H5Ldelete(file, path.c_str(), H5P_DEFAULT) >= 0);
  const hid_t made = H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  REQUIRE(H5Dwrite_chunk(made, H5P_DEFAULT, mask, offset, size, chunk.data()) >= 0);
  const hid_t attribute = H5Acreate2(made, "iterations", H5T_STD_I64LE, one, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(attribute, H5T_NATIVE_INT64, &iteration) >= 0);
  REQUIRE(H5Fclose(file) >= 0);
  test::relistSegments(segment.parent_path());
}

/// That this tensor's values are unsupported for a reason, that all else is there, and that nothing is
/// damaged.
void checkCostsOneTensor(const fs::path& run, const std::string& name, std::int64_t iteration,
                         const std::string& says) {
  const auto reader = test::openRun(run);
  const core::Graph& graph = reader->graph();
  for (const core::TensorInfo& tensor : graph.tensors()) {
    CAPTURE(tensor.fullName());
    const auto row = reader->statistics(kRank0, at(iteration), tensor.id);
    REQUIRE(row.ok());
    CHECK(row->values.count == tensor.shape.elements());
    const auto value = reader->tensor(kRank0, at(iteration), tensor.id);
    CHECK(reader->stored(kRank0, at(iteration), tensor.id));
    if (value.ok()) continue;
    CHECK(tensor.fullName() == name + ":0");
    CHECK(value.error().code() == core::ErrorCode::kUnsupported);
    CHECK_THAT(value.error().message(), Contains(says) && Contains(name) && Contains("update msdbg"));
  }
  CHECK_FALSE(reader->tensor(kRank0, at(iteration), test::tensorNamed(graph, name)).ok());
  CHECK(textOf(reader->damage()).empty());
  CHECK(textOf(reader->verify({}, {})).empty());
}

}  // namespace

TEST_CASE("Values of every dtype are read back as they were recorded, before and after segments are merged") {
  const test::TempDir folder;
  const core::Graph graph = test::everyDTypeGraph();
  test::record(folder / "run", graph, test::withoutReplay(), {.iterations = 3, .commitEach = true});
  {
    const auto reader = test::openRun(folder / "run");
    CHECK(core::serializeGraph(reader->graph()) == core::serializeGraph(graph));
    for (std::int64_t i = 0; i < 3; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
    for (const core::TensorInfo& tensor : graph.tensors()) {
      const auto expected = core::computeStatistics(test::valueOf(tensor, 1));
      const auto row = reader->statistics(kRank0, at(1), tensor.id).orThrow();
      CHECK(std::tie(row.values.count, row.values.zero, row.values.mean, row.values.std) ==
            std::tie(expected.count, expected.zero, expected.mean, expected.std));
    }
    CHECK(textOf(reader->verify({}, {})).empty());
  }
  dump::BackgroundMerge job(folder / "run/rank_0", 0, 3, {0, 1, 2});
  for (bool done = false; !done;) done = job.step().orThrow();
  CHECK(job.line().iterations.numbers() == std::vector<std::int64_t>{0, 1, 2});
  for (const int old : {0, 1, 2})
    fs::remove(folder / ("run/rank_0/segment_00000" + std::to_string(old) + ".h5"));
  fs::remove(folder / "run/rank_0/journal");  // the merged file speaks for itself
  const auto merged = test::openRun(folder / "run");
  for (std::int64_t i = 0; i < 3; ++i) CHECK(test::firstDifference(*merged, 0, i) == "");
}

TEST_CASE("h5py opens every dtype: as NumPy's own, as a wider float, or as bytes that an attribute names") {
  if (test::runCommand({"/usr/bin/python3", "-c", "import h5py"}).exitStatus != 0) {
    WARN("skipped: python3-h5py is not installed");
    return;
  }
  const test::TempDir folder;
  const core::Graph graph = test::everyDTypeGraph();
  dump::RecordOptions options;
  options.compress = false;
  test::record(folder / "run", graph, options, {.iterations = 2});
  const std::string script = R"(
import sys, json, h5py, numpy
f = h5py.File(sys.argv[1], "r")
told = {}
for name, d in f["/tensor/network"].items():
    if not isinstance(d, h5py.Dataset) or not name.endswith(":0"): continue
    name = name[:-2]
    v = d[1].ravel()
    told[name] = {"dtype": str(v.dtype), "named": d.attrs["dtype"].decode() if "dtype" in d.attrs else "",
                  "real": [str(x) for x in numpy.real(v)], "imag": [str(x) for x in numpy.imag(v)]}
print(json.dumps(told))
)";
  const auto result =
      test::runCommand({"/usr/bin/python3", "-c", script, folder / "run/rank_0/segment_000000.h5"});
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  const auto told = nlohmann::json::parse(result.out);
  const std::map<std::string, std::string> others = {
      {"bool", "uint8"},          {"bfloat16", "float32"},      {"float8_e5m2", "float16"},
      {"float8_e4m3fn", "uint8"}, {"float8_e4m3fnuz", "uint8"}, {"float8_e5m2fnuz", "uint8"}};
  for (const DType dtype : core::kDTypes) {
    const std::string name(core::dtypeName(dtype));
    CAPTURE(name);
    const auto& seen = told.at(name);
    const auto other = others.find(name);
    CHECK(seen.at("dtype") == (other == others.end() ? name : other->second));
    const bool bytes = other != others.end() && other->second == "uint8";
    CHECK(seen.at("named") == (bytes ? name : ""));
    const core::Tensor fed = test::valueOf(graph.tensor(test::tensorNamed(graph, "network/" + name)), 1);
    for (std::size_t i = 0; i < 15; ++i) {
      const std::string real = seen.at("real")[i], imag = seen.at("imag")[i];
      if (bytes) {
        CHECK(std::stoi(real) == static_cast<int>(fed.byteSpan()[i]));
      } else if (core::isInteger(dtype)) {
        CHECK(std::stoll(real) == static_cast<long long>(fed.at(static_cast<std::int64_t>(i))));
      } else {
        const core::Complex128 z = fed.complexAt(static_cast<std::int64_t>(i));
        CHECK(std::stod(real) == Approx(z.real).epsilon(1e-3));  // NumPy writes a float16 with few digits
        CHECK(std::stod(imag) == Approx(z.imag).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("A dtype's number that this msdbg does not know costs that tensor's values alone") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), {}, {.iterations = 2});
  test::makeDTypeUnknown(folder / "run", "network/wide", 77);
  const auto reader = test::openRun(folder / "run");
  CHECK(core::dtypeName(reader->graph().tensor(test::tensorNamed(reader->graph(), "network/wide")).dtype) ==
        "unsupported");
  checkCostsOneTensor(folder / "run", "network/wide", 1, "number 77");
}

TEST_CASE("A checkpoint or a batch with a tensor of an unknown dtype is unsupported, not damaged") {
  const test::TempDir folder;
  dump::RecordOptions options;
  options.policy = dump::Policy::kRecord;
  test::record(folder / "run", test::smallGraph(), options, {.iterations = 2});
  test::makeDTypeUnknown(folder / "run", "network/a/weight", 77);
  test::makeDTypeUnknown(folder / "run", "network/x", 78);
  const auto reader = test::openRun(folder / "run");
  const auto state = reader->checkpoint(kRank0, at(0));
  REQUIRE_FALSE(state.ok());
  CHECK(state.error().code() == core::ErrorCode::kUnsupported);
  CHECK_THAT(state.error().message(), Contains("network/a/weight:0") && Contains("number 77"));
  const auto batch = reader->batch(kRank0, at(0));
  REQUIRE_FALSE(batch.ok());
  CHECK(batch.error().code() == core::ErrorCode::kUnsupported);
  CHECK(textOf(reader->verify({}, {})).empty());
}

TEST_CASE("A dataset of a type that this msdbg does not know costs that tensor's values alone") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), {}, {.iterations = 1});
  retype(folder / "run/rank_0/segment_000000.h5", "/tensor/network/x:0", H5T_IEEE_F32BE);
  checkCostsOneTensor(folder / "run", "network/x", 0, "stored as float32 in a way");
}

TEST_CASE("A dataset of another dtype than the graph's is damage, which names both") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), {}, {.iterations = 1});
  retype(folder / "run/rank_0/segment_000000.h5", "/tensor/network/x:0", H5T_STD_U32LE);
  const auto reader = test::openRun(folder / "run");
  const auto value = reader->tensor(kRank0, at(0), test::tensorNamed(reader->graph(), "network/x"));
  REQUIRE_FALSE(value.ok());
  CHECK_THAT(textOf(reader->damage()),
             Contains("network/x:0") && Contains("stored as uint32, not as float32"));
}

TEST_CASE("A batch keeps the source of an input in its own dtype, and gives the input back") {
  const core::Graph graph = test::smallGraph();
  const core::TensorId x = test::tensorNamed(graph, "network/x");
  dump::RecordOptions options;
  options.policy = dump::Policy::kRecord;
  for (const DType dtype : core::kDTypes) {
    if (dtype == DType::Bool || core::isComplex(dtype)) continue;
    CAPTURE(core::dtypeName(dtype));
    const test::TempDir folder;
    core::TensorInfo given;
    given.dtype = dtype;
    given.shape = {8, 4};
    const core::InputSource source{test::valueOf(given, 3), 2};
    const core::Tensor input = core::makeInput(source, DType::Float32, {8, 4}).orThrow();
    test::writeInfo(folder / "run");
    {
      auto recorder = dump::Recorder::create({folder / "run", kRank0, 1, 1}, options).orThrow();
      recorder->graphReady(graph);
      const core::GivenSource sources[] = {{x, source}};
      recorder->sourcesGiven(at(0), sources);
      recorder->iterationStarted(at(0));
      for (const core::TensorInfo& tensor : graph.tensors())
        recorder->tensorReady({at(0), tensor.id, tensor.id == x ? input : test::valueOf(tensor, 0)});
      recorder->iterationFinished(at(0), {});
      REQUIRE(recorder->finish({.state = "finished"}).ok());
    }
    const auto reader = test::openRun(folder / "run");
    const core::Tensor read = reader->tensor(kRank0, at(0), x).orThrow();
    CHECK(std::memcmp(read.raw(), input.raw(), input.bytes()) == 0);
    const core::Batch batch = reader->batch(kRank0, at(0)).orThrow();
    REQUIRE(batch.sources.size() == 1);
    CHECK(batch.sources[0].second.values.dtype() == dtype);
  }
}
