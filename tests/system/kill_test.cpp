// SIGKILL at drawn moments of real recordings, from before the first commit to after the end. MSDBG_KILLS
// says how many (20). The number of a kill says what is killed and where, and seeds what is drawn.
//
// What may be missing does not depend on how fast the machine is. A rank waits at its next tensor when a
// finished iteration has been uncommitted for over a second, so all finished iterations that are missing,
// the last one apart, ended within one second; and one more may have been in progress. The test looks at the
// rank's status file all the time, so it knows for each iteration when it had not ended yet and when it had;
// where it looks rarely, these bounds are wide and the test is lenient, but never wrong.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <system_error>
#include <thread>

#include "dump/reader/run_reader.h"
#include "dump/session/process_info.h"
#include "dump/writer/rank_status.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

namespace {

// What was seen of one rank: bounds of the moment at which each iteration ended.
class Observation {
 public:
  explicit Observation(fs::path folder) : m_folder(std::move(folder)) {}

  void look() {
    const Clock::time_point before = Clock::now();
    const auto status = dump::readRankStatus(m_folder);
    if (!status || status->iteration < 0) return;
    m_pid = static_cast<pid_t>(status->pid);
    // Inside a kernel: iterations from this one on have not ended before this look. Behind the last kernel
    // this one may have. Those before it have ended by now.
    m_notYet[status->node >= 0 ? status->iteration : status->iteration + 1] = before;
    const Clock::time_point after = Clock::now();
    for (; m_ended < status->iteration; ++m_ended) m_over[m_ended] = after;
  }
  /// Iterations known to have ended: all before this one.
  std::int64_t ended() const { return m_ended; }
  pid_t pid() const { return m_pid; }

  /// For sure between the ends of two iterations; 0 when nothing is sure.
  Seconds atLeastBetween(std::int64_t first, std::int64_t last) const {
    const auto notYet = m_notYet.upper_bound(last);
    const auto over = m_over.find(first);
    if (notYet == m_notYet.begin() || over == m_over.end()) return Seconds(0);
    return std::max(Seconds(0), Seconds(std::prev(notYet)->second - over->second));
  }

 private:
  fs::path m_folder;
  pid_t m_pid = 0;
  std::int64_t m_ended = 0;
  std::map<std::int64_t, Clock::time_point> m_notYet, m_over;
};

struct Recording {
  std::vector<std::string> model;  // and options
  int ranks;
};
enum class Victim { kAll, kRank, kLauncher };

// Every policy and way of writing, on one rank and two. Where values go (--max-size, --keep-last, --on-hit),
// segments are replaced by their statistics and their files written over.
std::vector<Recording> recordings() {
  std::vector<Recording> all = {
      {{"lenet5", "--steps", "60"}, 1},
      {{"alexnet", "--steps", "4", "--batch", "8"}, 2},
      {{"lenet5", "--steps", "200", "--policy", "stats"}, 2},
      {{"lenet5", "--steps", "300", "--policy", "record", "--checkpoint-every", "10"}, 1},
      {{"lenet5", "--steps", "120", "--on-hit", "recommended", "--fault", "nan@iteration=60,node=*fc2/Gemm*"},
       2},
      {{"lenet5", "--steps", "50", "--max-size", "60MB"}, 1},
      {{"mlp", "--batch", "1", "--steps", "400", "--policy", "stats", "--max-size", "900kB"},
       1},  // they thin
      {{"mlp", "--batch", "1", "--steps", "300", "--policy", "record", "--checkpoint-every", "5",
        "--max-size", "900kB"},
       1},  // every second checkpoint goes, then batches
      {{"alexnet", "--steps", "10", "--batch", "8", "--keep-last", "2", "--write", "team-direct"}, 1},
      {{"alexnet", "--steps", "10", "--batch", "8", "--max-size", "300MB", "--write", "team"}, 1},
      {{"alexnet", "--steps", "5", "--batch", "8", "--max-size", "300MB", "--write", "thread-direct"}, 2},
      {{"alexnet", "--steps", "5", "--batch", "8", "--keep-last", "2", "--write", "thread"}, 2},
  };
#ifndef MSDBG_WITH_MPI
  for (Recording& recording : all) recording.ranks = 1;
#endif
  return all;
}

// Where is recorded: what the system has for temporary files, mostly a disk, and memory.
std::vector<fs::path> places() {
  constexpr std::uintmax_t kEnough = 1u << 30;  // the largest recording takes 700 MB
  std::vector<fs::path> all = {fs::temp_directory_path()};
  const fs::path memory = "/dev/shm";
  std::error_code missing;
  const fs::space_info space = fs::space(memory, missing);
  if (!missing && space.available >= kEnough)
    all.push_back(memory);
  else
    WARN("skipped: no 1 GiB free in " << memory);
  return all;
}

// As test::TempDir, in a place that is given.
class FolderIn {
 public:
  explicit FolderIn(const fs::path& place) {
    std::string name = place / "msdbg-test-XXXXXX";
    if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
    m_path = name;
  }
  ~FolderIn() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
  }
  FolderIn(const FolderIn&) = delete;
  FolderIn& operator=(const FolderIn&) = delete;
  fs::path operator/(const char* name) const { return m_path / name; }

 private:
  fs::path m_path;
};

// `msdbg dump` in a session of its own, so that everything that it starts can be found.
class Dump {
 public:
  Dump(const fs::path& run, const Recording& recording) {
    std::vector<std::string> words = {
        test::buildDir() / "bin/msdbg", "dump", "-o", run, "--threads", "1", "-n",
        std::to_string(recording.ranks)};
    words.insert(words.end(), recording.model.begin(), recording.model.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    m_pid = fork();
    if (m_pid != 0) return;
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) dup2(nothing, stream);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Dump() {
    killAll();
    waitForEnd();
    std::error_code ignored;
    if (!m_shared.empty()) fs::remove_all(m_shared, ignored);
  }
  bool running() {
    m_running = m_running && waitpid(m_pid, nullptr, WNOHANG) == 0;
    return m_running;
  }
  void killLauncher() { kill(m_pid, SIGKILL); }
  void killOne(pid_t process) {
    if (process > 0 && getsid(process) == m_pid) kill(process, SIGKILL);
  }
  void killAll() {
    for (const pid_t process : members()) kill(process, SIGKILL);
  }
  // A launcher that is killed cannot remove the folder that it shares with its ranks.
  void noteSharedFolder(pid_t rank) {
    if (!m_shared.empty() || rank <= 0) return;
    std::ifstream file("/proc/" + std::to_string(rank) + "/environ", std::ios::binary);
    for (std::string variable; std::getline(file, variable, '\0');)
      if (variable.starts_with("MSDBG_CONTROL=")) m_shared = fs::path(variable.substr(14)).parent_path();
  }
  // Until nobody is left who could write.
  void waitForEnd() {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while (running() || !members().empty()) {
      if (Clock::now() > deadline) killAll();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  // By session: mpirun gives its ranks groups of their own. Zombies have closed their files.
  std::vector<pid_t> members() const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t process = std::atoi(entry.path().filename().c_str());
      if (process > 0 && getsid(process) == m_pid && dump::processInfo(process)) found.push_back(process);
    }
    return found;
  }

  pid_t m_pid = -1;
  bool m_running = true;
  fs::path m_shared;
};

// Lets the recording go on for so long, looking at its ranks.
void watchFor(Seconds time, Dump& dump, std::vector<Observation>& ranks) {
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < time) {
    for (Observation& rank : ranks) rank.look();
    dump.noteSharedFolder(ranks[0].pid());
    (void)dump.running();
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

std::size_t segmentsListed(const fs::path& run, std::size_t rank) {
  std::error_code missing;
  const fs::path folder = run / ("rank_" + std::to_string(rank));
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    count += entry.path().filename().string().starts_with("segment_");
  return count;
}

void checkRank(const dump::RunReader& reader, std::size_t rank, const Observation& seen) {
  std::int64_t committed = 0;
  for (const dump::IterationState& state : reader.iterations(core::Rank(static_cast<std::int64_t>(rank)))) {
    CHECK(state.iteration == committed);  // no holes
    committed += state.complete;
  }
  const std::int64_t lastEnded = seen.ended() - 1;
  CAPTURE(rank, committed, lastEnded);
  if (lastEnded - 1 > committed) CHECK(seen.atLeastBetween(committed, lastEnded - 1) <= Seconds(1));
}

// A killed program's first thread can be gone a moment before the others, and only the last one takes the
// lock with it.
bool lockIsFree(const dump::RunReader& reader) {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (reader.recording() && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return !reader.recording();
}

void checkRun(const fs::path& run, const std::vector<Observation>& ranks) {
  bool anything = false;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) anything |= segmentsListed(run, rank) > 0;
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) {
    CAPTURE(reader.error().message());
    CHECK_FALSE(anything);  // there was nothing yet
    CHECK(reader.error().message().find('\n') == std::string::npos);
    return;
  }
  CHECK(lockIsFree(**reader));
  for (const dump::Damage& damage : (*reader)->verify({}, {})) {
    CAPTURE(damage.where, damage.what);
    // A rank that had not begun is none; a line that was being written is found again in its file.
    CHECK((damage.what == "the folder is missing" || damage.what == "its last line is torn"));
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) checkRank(**reader, rank, ranks[rank]);
}

std::vector<Observation> observations(const fs::path& run, int ranks) {
  std::vector<Observation> all;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(run / ("rank_" + std::to_string(rank)));
  return all;
}

Seconds durationOf(const Recording& recording) {
  const test::TempDir folder;
  const Clock::time_point start = Clock::now();
  Dump dump(folder / "run", recording);
  dump.waitForEnd();
  return Clock::now() - start;
}

void killAt(Seconds moment, const Recording& recording, Victim victim, const fs::path& place) {
  const FolderIn folder(place);
  const fs::path run = folder / "run";
  std::vector<Observation> ranks = observations(run, recording.ranks);
  Dump dump(run, recording);
  watchFor(moment, dump, ranks);
  if (victim == Victim::kAll || !dump.running())
    dump.killAll();
  else if (victim == Victim::kLauncher)
    dump.killLauncher();
  else
    dump.killOne(ranks.back().pid());
  if (victim == Victim::kAll)
    for (Observation& rank : ranks) rank.look();
  dump.waitForEnd();
  checkRun(run, ranks);
}

std::size_t wantedKills() {
  const char* text = std::getenv("MSDBG_KILLS");
  return text ? std::strtoull(text, nullptr, 10) : 20;
}

}  // namespace

TEST_CASE("SIGKILL at any moment leaves a run that opens, verifies and misses a second at most", "[slow]") {
  constexpr std::uint64_t kFirstSeed = 4;
  const std::vector<Recording> all = recordings();
  const std::vector<fs::path> folders = places();
  std::map<std::size_t, Seconds> durations;  // in the first place; the others are not so different
  for (std::size_t i = 0; i < wantedKills(); ++i) {
    const std::size_t which = i % all.size();
    const fs::path place = folders[i / all.size() % folders.size()];
    if (!durations.contains(which)) durations[which] = durationOf(all[which]);
    const std::uint64_t seed = kFirstSeed + i;
    std::mt19937_64 random(seed);
    const Seconds moment = durations[which] * std::uniform_real_distribution<>(0, 1.1)(random);
    const Victim victim =
        std::array{Victim::kAll, Victim::kAll, Victim::kRank, Victim::kLauncher}[random() % 4];
    CAPTURE(i, seed, all[which].model, all[which].ranks, place.string(), moment.count(),
            static_cast<int>(victim));
    killAt(moment, all[which], victim, place);
  }
}
