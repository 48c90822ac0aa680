#include "dump/writer/rank_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMagic = 0x737574617473646dull;  // "mdstatus"
constexpr std::size_t kNameWords = 25;                   // 200 bytes

constexpr std::size_t kSlots = 16;
constexpr int kAttempts = 1000;

// The writer fills the slots in turn and then publishes how many it has filled; the last one is the status. A
// reader gets a torn copy only if the writer comes round to the same slot meanwhile, which the count tells:
// it reads again. A writer that dies inside set() leaves the published slots whole. Every word is atomic, so
// a torn read is detected, never undefined.
struct Slot {
  std::atomic<std::int64_t> iteration, node, waiting;
  std::array<std::atomic<std::uint64_t>, kNameWords> name;
};
struct Page {
  std::atomic<std::uint64_t> magic, published;
  std::atomic<std::int64_t> pid;
  std::array<Slot, kSlots> slots;
};
static_assert(sizeof(Page) <= kPage && std::atomic<std::uint64_t>::is_always_lock_free);

std::filesystem::path fileOf(const std::filesystem::path& rankFolder) { return rankFolder / "status"; }

void* mapFile(int descriptor, int protection) {
  void* map = ::mmap(nullptr, kPage, protection, MAP_SHARED, descriptor, 0);
  return map == MAP_FAILED ? nullptr : map;
}

constexpr auto kRelaxed = std::memory_order_relaxed;

RankStatus copyOf(const Page& page, std::uint64_t published) {
  const Slot& slot = page.slots[published % kSlots];
  RankStatus status;
  status.pid = page.pid.load(kRelaxed);
  status.iteration = slot.iteration.load(kRelaxed);
  status.node = slot.node.load(kRelaxed);
  status.beat = static_cast<std::int64_t>(published);
  status.waiting = slot.waiting.load(kRelaxed) != 0;
  std::array<std::uint64_t, kNameWords + 1> words = {};
  for (std::size_t i = 0; i < kNameWords; ++i) words[i] = slot.name[i].load(kRelaxed);
  status.nodeName = reinterpret_cast<const char*>(words.data());
  return status;
}

// nullopt only if the writer came round during every attempt.
std::optional<RankStatus> wholeCopyOf(const Page& page) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t before = page.published.load(std::memory_order_acquire);
    RankStatus status = copyOf(page, before);
    std::atomic_thread_fence(std::memory_order_acquire);
    // The writer may be inside the slot after the last published one.
    if (page.published.load(kRelaxed) - before < kSlots - 1) return status;
  }
  return std::nullopt;
}

}  // namespace

core::Result<std::unique_ptr<RankStatusWriter>> RankStatusWriter::create(
    const std::filesystem::path& rankFolder) {
  const std::filesystem::path path = fileOf(rankFolder);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return ioError("cannot create", path);
  const bool sized =
      ::posix_fallocate(descriptor, 0, kPage) == 0;  // a hole on a full disk would end in SIGBUS
  void* map = sized ? mapFile(descriptor, PROT_READ | PROT_WRITE) : nullptr;
  const core::Error error = ioError("cannot map", path);
  ::close(descriptor);
  if (!map) return error;
  std::unique_ptr<RankStatusWriter> writer(new RankStatusWriter(map, path));
  static_cast<Page*>(map)->pid.store(::getpid(), kRelaxed);
  writer->set(-1, -1, "", false);
  static_cast<Page*>(map)->magic.store(kMagic, std::memory_order_release);
  return writer;
}

RankStatusWriter::~RankStatusWriter() { ::munmap(m_map, kPage); }

void RankStatusWriter::set(std::int64_t iteration, std::int64_t node, const std::string& nodeName,
                           bool waiting) {
  Page& page = *static_cast<Page*>(m_map);
  const std::uint64_t next = page.published.load(kRelaxed) + 1;
  Slot& slot = page.slots[next % kSlots];
  std::atomic_thread_fence(
      std::memory_order_release);  // who sees a word of this slot sees the count before it
  slot.iteration.store(iteration, kRelaxed);
  slot.node.store(node, kRelaxed);
  slot.waiting.store(waiting, kRelaxed);
  std::array<std::uint64_t, kNameWords> words = {};
  std::memcpy(words.data(), nodeName.data(), std::min(nodeName.size(), sizeof words));
  for (std::size_t i = 0; i < kNameWords; ++i) slot.name[i].store(words[i], kRelaxed);
  page.published.store(next, std::memory_order_release);
}

void RankStatusWriter::beat() {
  Page& page = *static_cast<Page*>(m_map);
  const RankStatus now = copyOf(page, page.published.load(kRelaxed));  // whole: nobody else writes
  set(now.iteration, now.node, now.nodeName, now.waiting);
}

void RankStatusWriter::remove() { ::unlink(m_path.c_str()); }

std::optional<RankStatus> readRankStatus(const std::filesystem::path& rankFolder) {
  const int descriptor = ::open(fileOf(rankFolder).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct stat status = {};
  const bool whole = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_size >= static_cast<off_t>(kPage);
  void* map = whole ? mapFile(descriptor, PROT_READ) : nullptr;
  ::close(descriptor);
  if (!map) return std::nullopt;
  const Page& page = *static_cast<const Page*>(map);
  std::optional<RankStatus> copy;
  if (page.magic.load(std::memory_order_acquire) == kMagic) copy = wholeCopyOf(page);
  ::munmap(map, kPage);
  return copy;
}

}  // namespace msdbg::dump
