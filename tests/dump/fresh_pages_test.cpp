// Pages of a file in memory that several threads fill at once: the bytes are those that one write() would
// have left, whatever was there before.
#include "dump/writer/fresh_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "dump/writer/row_file.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using dump::FreshPages;
namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kBlock = core::kBlockBytes;

Bytes numbered(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  std::uint32_t state = seed;
  for (std::byte& b : data) b = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  return data;
}

bool holds(const fs::path& file, std::size_t at, const Bytes& expected) {
  const std::string text = test::readText(file);
  return text.size() >= at + expected.size() &&
         std::memcmp(text.data() + at, expected.data(), expected.size()) == 0;
}

// A folder in memory where the kernel lets us do this; nullptr: it does not.
std::unique_ptr<test::TempDir> folderInMemory() {
  const fs::path memory = "/dev/shm";
  if (::access(memory.c_str(), W_OK) == 0) {
    auto folder = std::make_unique<test::TempDir>(memory);
    const dump::Descriptor file(::open((*folder / "try").c_str(), O_RDWR | O_CREAT, 0600));
    if (FreshPages::of(file.get())) return folder;
  }
  WARN("skipped: no /dev/shm, or no userfaultfd(2) for this process");
  return nullptr;
}

// Appends the bytes as a chunk, by three threads.
std::uint64_t append(dump::RowFile& file, const Bytes& bytes) {
  const auto value = core::Tensor::of<std::uint8_t>(
      core::Shape{static_cast<std::int64_t>(bytes.size())},
      std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  const std::vector<core::Hash128> blocks = core::observeTensor(value, {}).blocks;
  return *file.append({bytes, core::hashOfBlocks(blocks), blocks}).orThrow();
}

}  // namespace

TEST_CASE("Threads fill new pages of a file in memory; pages that are there stay as they are") {
  const auto folder = folderInMemory();
  if (!folder) return;
  const fs::path path = *folder / "rows";
  const dump::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  const Bytes old = numbered(kBlock, 1), first = numbered(2 * kBlock, 2), second = numbered(kBlock, 3);
  REQUIRE(::pwrite(file.get(), old.data(), old.size(), 0) == static_cast<ssize_t>(old.size()));
  auto pages = FreshPages::of(file.get());
  REQUIRE(pages);
  CHECK_FALSE(pages->put(kBlock, first));  // not open yet
  REQUIRE(pages->open(0, 4 * kBlock + 5));
  CHECK(fs::file_size(path) == 4 * kBlock + 5);
  bool ok[2] = {};
  std::thread other([&] { ok[0] = pages->put(kBlock, first); });
  ok[1] = pages->put(3 * kBlock, second);
  other.join();
  CHECK((ok[0] && ok[1]));
  CHECK_FALSE(pages->put(0, second));                       // is there
  CHECK_FALSE(pages->put(kBlock, second));                  // so is what was just put
  CHECK_FALSE(pages->put(4 * kBlock, {second.data(), 5}));  // not a page
  CHECK_FALSE(pages->put(4 * kBlock, second));              // beyond what is open
  pages->close();
  CHECK_FALSE(pages->put(3 * kBlock, second));
  CHECK(holds(path, 0, old));
  CHECK(holds(path, kBlock, first));
  CHECK(holds(path, 3 * kBlock, second));
  CHECK(holds(path, 4 * kBlock, Bytes(5)));
}

TEST_CASE("A file that was cut and one that does not lie in memory get no new pages, and no signal comes") {
  const auto folder = folderInMemory();
  if (!folder) return;
  const fs::path path = *folder / "rows";
  const dump::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  auto pages = FreshPages::of(file.get());
  REQUIRE(pages);
  REQUIRE(pages->open(0, 4 * kBlock));
  REQUIRE(::ftruncate(file.get(), 0) == 0);
  CHECK_FALSE(pages->put(kBlock, numbered(kBlock, 1)));
  CHECK(fs::file_size(path) == 0);
  const dump::Descriptor elsewhere(::open("/proc/self/status", O_RDONLY));
  CHECK_FALSE(FreshPages::of(elsewhere.get()));
}

TEST_CASE("A file of rows that threads write together holds what one thread would have written") {
  const auto folder = folderInMemory();
  if (!folder) return;
  const bool again = GENERATE(false, true);
  dump::SpareFile spare(folder->path());
  const Bytes old = numbered(20 * kBlock, 7);
  if (again) {  // over the file of a dropped segment, which ends within the second chunk
    test::writeText(*folder / "old", {reinterpret_cast<const char*>(old.data()), old.size()});
    REQUIRE(spare.offer(*folder / "old").ok());
  }
  const auto file = dump::RowFile::create(folder->path(), "new", &spare).orThrow();
  file->writeTogether(3);
  const Bytes chunks[] = {numbered(13 * kBlock + 77, 11), numbered(40 * kBlock, 12), numbered(1 << 20, 13),
                          numbered(100'000, 14)};
  std::vector<std::uint64_t> places;
  for (const Bytes& chunk : chunks) places.push_back(append(*file, chunk));
  CHECK(append(*file, chunks[1]) == places[1]);
  REQUIRE(file->take());
  const std::uint64_t size = file->end() + 3 * kBlock;
  REQUIRE(file->write(file->end() + 100, old).ok());  // as the rest of a segment is
  REQUIRE(file->extend(size).ok());
  std::string expected(size, '\0');
  const auto place = [&](std::uint64_t at, const Bytes& bytes) {
    for (std::size_t i = 0; i < bytes.size() && at + i < size; ++i)
      expected[at + i] = static_cast<char>(bytes[i]);
  };
  for (std::size_t i = 0; i < std::size(chunks); ++i) place(places[i], chunks[i]);
  place(file->end() + 100, old);
  REQUIRE(file->commit(*folder / "new").ok());
  CHECK((test::readText(*folder / "new") == expected));
}
