#include "dump/writer/rank_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMagic = 0x737574617473646dull;  // "mdstatus"
constexpr std::size_t kNameWords = 25;                   // 200 bytes

constexpr int kAttempts = 200;  // the second half of them 1 ms apart

// A sequence lock: odd while the writer is inside. Every word is atomic, so a torn read is detected, never
// undefined.
struct Page {
  std::atomic<std::uint64_t> magic, sequence;
  std::atomic<std::int64_t> pid, iteration, node, beat, waiting;
  std::array<std::atomic<std::uint64_t>, kNameWords> name;
};
static_assert(sizeof(Page) <= kPage && std::atomic<std::uint64_t>::is_always_lock_free);

std::filesystem::path fileOf(const std::filesystem::path& rankFolder) { return rankFolder / "status"; }

void* mapFile(int descriptor, int protection) {
  void* map = ::mmap(nullptr, kPage, protection, MAP_SHARED, descriptor, 0);
  return map == MAP_FAILED ? nullptr : map;
}

RankStatus copyOf(const Page& page) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  RankStatus status;
  status.pid = page.pid.load(kRelaxed);
  status.iteration = page.iteration.load(kRelaxed);
  status.node = page.node.load(kRelaxed);
  status.beat = page.beat.load(kRelaxed);
  status.waiting = page.waiting.load(kRelaxed) != 0;
  std::array<std::uint64_t, kNameWords + 1> words = {};
  for (std::size_t i = 0; i < kNameWords; ++i) words[i] = page.name[i].load(kRelaxed);
  status.nodeName = reinterpret_cast<const char*>(words.data());
  return status;
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
  static_cast<Page*>(map)->pid.store(::getpid(), std::memory_order_relaxed);
  writer->set(-1, -1, "", false);
  static_cast<Page*>(map)->magic.store(kMagic, std::memory_order_release);
  return writer;
}

RankStatusWriter::~RankStatusWriter() { ::munmap(m_map, kPage); }

void RankStatusWriter::set(std::int64_t iteration, std::int64_t node, const std::string& nodeName,
                           bool waiting) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  Page& page = *static_cast<Page*>(m_map);
  const std::uint64_t sequence = page.sequence.load(kRelaxed) | 1;
  page.sequence.store(sequence, kRelaxed);
  std::atomic_thread_fence(std::memory_order_release);
  page.iteration.store(iteration, kRelaxed);
  page.node.store(node, kRelaxed);
  page.beat.store(page.beat.load(kRelaxed) + 1, kRelaxed);
  page.waiting.store(waiting, kRelaxed);
  std::array<std::uint64_t, kNameWords> words = {};
  std::memcpy(words.data(), nodeName.data(), std::min(nodeName.size(), sizeof words));
  for (std::size_t i = 0; i < kNameWords; ++i) page.name[i].store(words[i], kRelaxed);
  page.sequence.store(sequence + 1, std::memory_order_release);
}

void RankStatusWriter::remove() { ::unlink(m_path.c_str()); }

std::optional<RankStatus> readRankStatus(const std::filesystem::path& rankFolder) {
  const int descriptor = ::open(fileOf(rankFolder).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  void* map = ::lseek(descriptor, 0, SEEK_END) >= static_cast<off_t>(kPage) ? mapFile(descriptor, PROT_READ)
                                                                            : nullptr;
  ::close(descriptor);
  if (!map) return std::nullopt;
  const Page& page = *static_cast<const Page*>(map);
  std::optional<RankStatus> status;
  if (page.magic.load(std::memory_order_acquire) == kMagic) {
    // A writer that is not running just now is waited for. One that died inside set() leaves the number odd
    // for ever: what can be read then is still the best answer.
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > kAttempts / 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::uint64_t before = page.sequence.load(std::memory_order_acquire);
      status = copyOf(page);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && page.sequence.load(std::memory_order_relaxed) == before) break;
    }
  }
  ::munmap(map, kPage);
  return status;
}

}  // namespace msdbg::dump
