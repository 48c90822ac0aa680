// dump/FORMAT.md shows bytes of a real run; this records that run and compares.
#include <hdf5.h>

#include <catch2/catch.hpp>

#include "core_engine/tensor/statistics.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/run_command.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

// The run of FORMAT.md "Worked bytes": one tensor network/x = [1.0, -2.5], one iteration.
void recordWorkedRun(const fs::path& run) {
  core::Graph graph("network");
  core::TensorInfo x;
  x.name = "network/x";
  x.shape = {2};
  x.role = core::TensorRole::kInput;
  graph.addSource(x);
  test::writeInfo(run);
  auto recorder = dump::Recorder::create({run, core::Rank(0), 1, 1}, test::withoutReplay());
  REQUIRE(recorder.ok());
  (*recorder)->graphReady(graph);
  (*recorder)->iterationStarted(core::Iteration(0));
  const float values[] = {1.0f, -2.5f};
  (*recorder)->tensorReady({core::Iteration(0), core::TensorId(0), core::Tensor::of<float>({2}, values)});
  (*recorder)->iterationFinished(core::Iteration(0), {{"loss", 0.5}});
  REQUIRE((*recorder)->finish({.state = "finished"}).ok());
}

std::string hex(const std::string& bytes) {
  std::string text;
  char digits[4];
  for (const char c : bytes) {
    std::snprintf(digits, sizeof digits, "%02x ", static_cast<unsigned char>(c));
    text += digits;
  }
  text.pop_back();
  return text;
}

// The stored bytes of chunk [0, 0], as the file has them.
std::string firstChunk(const fs::path& segment) {
  const hid_t f = H5Fopen(segment.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t d = H5Dopen2(f, "/tensor/network/x:0", H5P_DEFAULT);
  const hsize_t offset[] = {0, 0};
  unsigned mask = 0;
  haddr_t address = 0;
  hsize_t size = 0;
  REQUIRE(H5Dget_chunk_info_by_coord(d, offset, &mask, &address, &size) >= 0);
  H5Dclose(d);
  H5Fclose(f);
  return test::readText(segment).substr(address, size);
}

}  // namespace

TEST_CASE("The worked bytes of FORMAT.md are those of a recorded run") {
  const test::TempDir folder;
  const fs::path run = folder / "worked.msdbg";
  recordWorkedRun(run);
  const std::string document = test::readText(test::sourceDir() / "dump/FORMAT.md");
  const std::string journal = test::readText(run / "rank_0/journal");
  CHECK_THAT(document, Catch::Contains(journal.substr(0, journal.find('\n'))));
  const std::size_t graph = journal.find('\n') + 1;
  CHECK_THAT(document, Catch::Contains(journal.substr(graph, journal.find('\n', graph) - graph)));
  const std::size_t end = journal.rfind('\n', journal.size() - 2) + 1;
  // Of the last line all but what it says of the one before, which tells times.
  CHECK_THAT(document, Catch::Contains(journal.substr(end, journal.find(",\"after\"", end) - end)));
  const std::string chunk = firstChunk(run / "rank_0/segment_000000.h5");
  CHECK(hex(chunk) == "00 00 80 3f 00 00 20 c0");  // 1.0 and -2.5
  CHECK_THAT(document, Catch::Contains(hex(chunk)));
  const core::Hash128 hash = core::hashBytes(std::as_bytes(std::span(chunk.data(), chunk.size())));
  CHECK_THAT(document, Catch::Contains(hash.text()));
  UNSCOPED_INFO(journal << hash.text());
  // MSDBG_KEEP_RUN=FOLDER leaves the run there, to look at with the commands that the document names.
  if (const char* keep = std::getenv("MSDBG_KEEP_RUN")) fs::copy(run, keep, fs::copy_options::recursive);
}
