// What the recorder does with rules: recorded, read back, and with how many bytes.
#include <hdf5.h>

#include <catch2/catch.hpp>

#include "core_engine/tensor/statistics.h"
#include "dump/journal.h"
#include "dump/policy/expected_size.h"
#include "dump/statistics_columns.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

RecordOptions optionsWith(const std::vector<std::string>& rules) {
  RecordOptions options = test::withoutReplay();
  for (const std::string& rule : rules) options.rules.push_back(parseRule(rule).orThrow());
  return options;
}

/// What a run holds of a tensor: 'f', 's' or '-' for each recorded iteration.
std::string held(RunReader& reader, const core::Graph& graph, const std::string& name,
                 std::int64_t rank = 0) {
  const core::TensorId id = test::tensorNamed(graph, name);
  std::string text;
  for (const IterationState& state : reader.iterations(core::Rank(rank))) {
    const core::Iteration iteration(state.iteration);
    const bool statistics = reader.statistics(core::Rank(rank), iteration, id).ok();
    const bool value = reader.tensor(core::Rank(rank), iteration, id).ok();
    CHECK(value == reader.stored(core::Rank(rank), iteration, id));
    text += value ? 'f' : statistics ? 's' : '-';
    if (value) CHECK(statistics);
  }
  return text;
}

}  // namespace

TEST_CASE("A recording holds what its rules say, by tensor, iteration and rank") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const RecordOptions options = optionsWith({"*weight=full,ranks=0", "*=none,dtype=int64,uint8",
                                             "network/*=full,every=3", "next(*)=none,iterations=1-2"});
  for (const std::int64_t rank : {0, 1})
    test::record(folder / "run", graph, options, {.iterations = 7, .rank = rank, .ranks = 2});
  const auto reader = test::openRun(folder / "run");
  CHECK(held(*reader, graph, "network/a/weight:0", 0) == "fffffff");
  CHECK(held(*reader, graph, "network/a/weight:0", 1) == "fssfssf");
  CHECK(held(*reader, graph, "network/label:0") == "-------");
  CHECK(held(*reader, graph, "network/a/Relu-op1") == "fssfssf");
  CHECK(held(*reader, graph, "network/Mask-op1:1") == "fssfssf");
  CHECK(held(*reader, graph, "update/network/a/Update-op1") == "s--ssss");
  CHECK(reader->damage().empty());
  CHECK(reader->verify({}, {}).empty());
  const auto none =
      reader->statistics(core::Rank(0), core::Iteration(0), test::tensorNamed(graph, "network/label:0"));
  CHECK(none.error().code() == core::ErrorCode::kUnavailable);
}

TEST_CASE("What is never recorded takes no room in the statistics") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const auto bytesWith = [&](const std::vector<std::string>& rules) {
    std::filesystem::remove_all(folder / "run");
    test::record(folder / "run", graph, optionsWith(rules), {.iterations = 200});
    return test::openRun(folder / "run")->storage().fileBytes;
  };
  const std::uint64_t all = bytesWith({"*=stats"}), one = bytesWith({"*=none,regex=^(?!network/x)"});
  CHECK(all - one > 200 * 11 * statisticsRowBytes() * 9 / 10);  // HDF5's own bytes differ a little
}

TEST_CASE("With nothing but none a recording still has its iterations and scalars") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  test::record(folder / "run", graph, optionsWith({"*=none"}), {.iterations = 3});
  const auto reader = test::openRun(folder / "run");
  CHECK(held(*reader, graph, "network/x:0") == "---");
  CHECK(reader->scalar(core::Rank(0), core::Iteration(2), "loss") == 2.5 / 3);
  CHECK(reader->damage().empty());
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("--max-size keeps the newest of the values that rules choose, and all statistics") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  RecordOptions options = optionsWith({"*Big*=full,every=2"});
  options.maxBytes = 8u << 20;
  test::record(folder / "run", graph, options, {.iterations = 20});
  const auto reader = test::openRun(folder / "run");
  const std::string big = held(*reader, graph, "network/Big-op1");
  CHECK(big.substr(0, 2) == "ss");
  CHECK(big.substr(16) == "fsfs");
}

TEST_CASE("A tensor whose rule says record has its hash in every iteration, and 16 bytes there") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const RecordOptions options =
      optionsWith({"*weight=full,every=3", "*Relu*=stats", "*=none,dtype=int64", "*=record"});
  test::record(folder / "run", graph, options,
               {.iterations = 7, .interruptedBefore = test::tensorNamed(graph, "network/a/Relu-op1")});
  const auto reader = test::openRun(folder / "run");
  CHECK(held(*reader, graph, "network/a/weight:0") == "f--f--f-");
  CHECK(held(*reader, graph, "network/a/Relu-op1") == "sssssss-");
  CHECK(held(*reader, graph, "network/Tanh-op1") == "--------");
  for (const core::TensorInfo& tensor : graph.tensors())
    for (std::int64_t i = 0; i < 8; ++i) {
      const auto hash = reader->hash(core::Rank(0), core::Iteration(i), tensor.id);
      const bool there = tensor.dtype != core::DType::Int64 &&
                         (i < 7 || tensor.isSource() || tensor.name.find("Opaque") != std::string::npos);
      CAPTURE(tensor.fullName(), i);
      REQUIRE(hash.ok() == there);
      if (there) CHECK(*hash == core::hashTensor(test::valueOf(tensor, i)));
    }
  CHECK(reader->damage().empty());
  CHECK(reader->verify({}, {}).empty());
  const auto size = expectedSize(graph, options, 1, 7);
  CHECK(size->statisticsBytes == 7 * (2 * statisticsRowBytes() + 9 * 16));
}

TEST_CASE("With nothing but record a segment has hashes and no column of statistics") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  test::record(folder / "run", graph, optionsWith({"*=record"}), {.iterations = 3});
  const hid_t file = H5Fopen((folder / "run/rank_0/segment_000000.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(H5Lexists(file, "/record/hash", H5P_DEFAULT) > 0);
  CHECK(H5Lexists(file, "/statistics", H5P_DEFAULT) == 0);
  H5Fclose(file);
  const auto reader = test::openRun(folder / "run");
  const core::TensorId relu = test::tensorNamed(graph, "network/a/Relu-op1");
  CHECK(reader->hash(core::Rank(0), core::Iteration(2), relu).ok());
  const auto statistics = reader->statistics(core::Rank(0), core::Iteration(2), relu);
  REQUIRE_FALSE(statistics.ok());
  CHECK(statistics.error().code() == core::ErrorCode::kUnavailable);
  CHECK(statistics.error().message() ==
        "network/a/Relu-op1:0 has no statistics, only its hash was to be recorded (rank 0, iteration 2)");
  CHECK(reader->verify({}, {}).empty());
}
