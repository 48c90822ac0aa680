// Files of dropped segments that are used again: only when nobody reads them, and without a trace of what was
// in them.
#include "dump/writer/spare_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "dump/reader/segment_reader.h"
#include "dump/writer/row_file.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = core::kBlockBytes;

std::uint64_t inodeOf(const fs::path& file) {
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status.st_ino;
}

std::vector<std::byte> filled(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

/// A RowFile with one piece, committed as `name`.
void commit(const fs::path& folder, const std::string& name, std::uint64_t at, std::size_t bytes,
            std::uint64_t size, int value, dump::SpareFile* spare) {
  const auto file = dump::RowFile::create(folder, name, spare).orThrow();
  REQUIRE(file->take());
  REQUIRE(file->write(at, filled(bytes, value)).ok());
  REQUIRE(file->extend(size).ok());
  REQUIRE(file->commit(folder / name).ok());
}

}  // namespace

TEST_CASE("A dropped file becomes the next one, and nothing of it is left in that") {
  const test::TempDir folder;
  dump::SpareFile spare(folder.path());
  commit(folder.path(), "old", 0, 10 * kBlock, 10 * kBlock, 0xAA, nullptr);
  const std::uint64_t inode = inodeOf(folder / "old");
  REQUIRE(spare.offer(folder / "old").ok());
  CHECK_FALSE(fs::exists(folder / "old"));
  CHECK(spare.bytes() == 10 * kBlock);
  SECTION("shorter, with gaps") {
    const auto file = dump::RowFile::create(folder.path(), "new", &spare).orThrow();
    REQUIRE(file->take());
    for (const std::uint64_t at : {3 * kBlock + 8, 5 * kBlock, 5 * kBlock + 100, 3 * kBlock})
      REQUIRE(file->write(at, filled(100, 0x11)).ok());
    REQUIRE(file->extend(6 * kBlock + 1).ok());
    REQUIRE(file->commit(folder / "new").ok());
    std::string expected(6 * kBlock + 1, '\0');
    for (const std::size_t at : {3 * kBlock, 3 * kBlock + 8, 5 * kBlock, 5 * kBlock + 100})
      expected.replace(at, 100, 100, '\x11');
    CHECK((test::readText(folder / "new") == expected));
  }
  SECTION("longer") {
    commit(folder.path(), "new", 9 * kBlock + 1, 3 * kBlock, 14 * kBlock, 0x22, &spare);
    std::string expected(14 * kBlock, '\0');
    expected.replace(9 * kBlock + 1, 3 * kBlock, 3 * kBlock, '\x22');
    CHECK((test::readText(folder / "new") == expected));
  }
  SECTION("with bytes that were written and not kept, once within what was there and once beyond") {
    const auto file = dump::RowFile::create(folder.path(), "new", &spare).orThrow();
    for (const std::size_t blocks : {3, 20})
      CHECK(dump::RowFile::writeAhead(file, filled(blocks * kBlock, 0x33)));
    const std::vector<std::byte> bytes = filled(2 * kBlock, 0x44);
    const std::vector<core::Hash128> blocks(2, core::hashBlock(std::span(bytes).first(kBlock)));
    {
      auto ahead = dump::RowFile::writeAhead(file, bytes);
      REQUIRE(ahead);
      CHECK(ahead->keep({bytes, core::hashBytes(bytes), blocks}).offset == kBlock);
    }
    REQUIRE(file->take());
    REQUIRE(file->extend(25 * kBlock).ok());
    REQUIRE(file->commit(folder / "new").ok());
    std::string expected(25 * kBlock, '\0');
    expected.replace(kBlock, 2 * kBlock, 2 * kBlock, '\x44');
    CHECK((test::readText(folder / "new") == expected));
  }
  SECTION("nothing written at all") {
    commit(folder.path(), "new", 0, 0, 4 * kBlock, 0, &spare);
    CHECK((test::readText(folder / "new") == std::string(4 * kBlock, '\0')));
  }
  CHECK(inodeOf(folder / "new") == inode);
  CHECK(spare.bytes() == 0);
}

TEST_CASE("What somebody reads is removed, not used again, and what is open stays readable") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(true), {}, {.iterations = 2});
  const fs::path segment = folder / "run/rank_0/segment_000000.h5";
  dump::SpareFile spare(folder.path());
  auto reader = dump::SegmentReader::open(segment, 0).orThrow();
  REQUIRE(spare.offer(segment).ok());
  CHECK_FALSE(fs::exists(segment));
  CHECK(spare.bytes() == 0);
  CHECK(reader->statistics().ok());
}

TEST_CASE("One spare file is kept at most, none under two names, and none afterwards") {
  const test::TempDir folder;
  for (const char* name : {"a", "b", "c", "linked"})
    commit(folder.path(), name, 0, kBlock, kBlock, 1, nullptr);
  fs::create_hard_link(folder / "linked", folder / "other");
  {
    dump::SpareFile spare(folder.path());
    REQUIRE(spare.offer(folder / "linked").ok());
    CHECK(spare.bytes() == 0);
    CHECK((test::readText(folder / "other") == std::string(kBlock, '\1')));
    REQUIRE(spare.offer(folder / "a").ok());
    REQUIRE(spare.offer(folder / "b").ok());
    CHECK(spare.bytes() == kBlock);
    CHECK_FALSE(spare.offer(folder / "missing").ok());
    spare.discard();
    CHECK(spare.bytes() == 0);
    CHECK_FALSE(spare.take(folder / "new").descriptor.valid());
    REQUIRE(spare.offer(folder / "c").ok());
  }
  for (const auto& entry : fs::directory_iterator(folder.path())) CHECK(entry.path().filename() == "other");
}

TEST_CASE("A recording beyond --max-size uses its files again, and every byte of it verifies") {
  const core::Graph graph = test::smallGraph(true);
  for (const bool inTeam : {true, false}) {
    const test::TempDir folder;
    dump::RecordOptions options;
    options.compress = false;
    options.write = {.inTeam = inTeam};
    options.maxBytes = 12'000'000;  // some six iterations
    test::record(folder / "run", graph, options, {.iterations = 40, .commitEach = true});
    auto reader = test::openRun(folder / "run");
    CHECK(reader->verify({}, {}).empty());
    CHECK(test::firstDifference(*reader, 0, 39) == "");
    for (const auto& entry : fs::directory_iterator(folder / "run/rank_0"))
      CHECK_FALSE(entry.path().filename().string().starts_with("."));
  }
}
