// Folders of several hosts become one run: the same as if all ranks had written into one folder.
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "dump/merge/merge_runs.h"
#include "tests/dump/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Rank;

namespace {

constexpr int kRanks = 3;

// Rank 0 and 1 on one host, rank 2 on another: as recorded without a shared path.
struct Hosts {
  Hosts() {
    for (std::int64_t rank = 0; rank < kRanks; ++rank) {
      const fs::path run = rank < 2 ? first : second;
      record(run, smallGraph(), {}, {.iterations = 4, .rank = rank, .ranks = kRanks, .commitEach = true});
      record(together, smallGraph(), {},
             {.iterations = 4, .rank = rank, .ranks = kRanks, .commitEach = true});
    }
    writeHost(first, "alpha");
    writeHost(second, "beta");
  }
  void writeHost(const fs::path& run, const std::string& host) const {
    writeInfo(run, kRanks, "finished");
    change(run, [&](dump::RunInfo& info) { info.id = std::string(32, 'a'), info.host = host; });
  }
  static void change(const fs::path& run, const std::function<void(dump::RunInfo&)>& by) {
    dump::RunInfo info = *dump::readRunInfo(run);
    by(info);
    REQUIRE(dump::writeRunInfo(run, info).ok());
  }
  dump::MergeOptions options(dump::MergeMode mode = dump::MergeMode::kCopy) const {
    dump::MergeOptions options;
    options.folders = {second, first};
    options.run = merged;
    options.mode = mode;
    return options;
  }
  std::string error(const dump::MergeOptions& options) const {
    const auto report = dump::mergeRuns(options);
    REQUIRE_FALSE(report.ok());
    CHECK_FALSE(fs::exists(merged));
    for (const auto& entry : fs::directory_iterator(folder.path())) CHECK(entry.path().extension() != ".tmp");
    return report.error().message();
  }

  TempDir folder;
  fs::path first = folder / "host0.msdbg", second = folder / "host1.msdbg",
           together = folder / "together.msdbg", merged = folder / "merged.msdbg";
};

ino_t inodeOf(const fs::path& file) {
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status.st_ino;
}

void checkMerged(const Hosts& hosts) {
  const auto run = openRun(hosts.merged), expected = openRun(hosts.together);
  CHECK(run->ranks() == expected->ranks());
  CHECK(run->damage().empty());
  for (const Rank rank : expected->ranks()) {
    REQUIRE(run->iterations(rank).size() == 4);
    for (std::int64_t i = 0; i < 4; ++i) CHECK(firstDifference(*run, rank.value, i).empty());
  }
  CHECK(run->storage().segments == expected->storage().segments);
  CHECK(run->storage().rawBytes == expected->storage().rawBytes);
  CHECK(run->verify({}, {}).empty());
  CHECK(run->info().id == std::string(32, 'a'));
  CHECK_THAT(run->info().hosts, Catch::Contains("\"beta\"") && Catch::Contains("\"ranks\":\"0-1\""));
  const auto again = dump::RunInfo::fromJson(run->info().toJson(), "again");
  REQUIRE(again.ok());
  CHECK(again->hosts == run->info().hosts);
}

}  // namespace

TEST_CASE("Merged folders are the run that one folder would hold", "[merge]") {
  const Hosts hosts;
  const auto mode = GENERATE(dump::MergeMode::kCopy, dump::MergeMode::kLink, dump::MergeMode::kMove);
  const ino_t before = inodeOf(hosts.second / "rank_2" / "segment_000001.h5");
  const auto report = dump::mergeRuns(hosts.options(mode));
  if (!report.ok()) FAIL(report.error().message());
  REQUIRE(report->parts.size() == 2);
  CHECK(report->parts[0].ranks == std::vector<std::int64_t>{0, 1});
  CHECK(report->parts[0].host == "alpha");
  CHECK(report->parts[1].folder == hosts.second);
  CHECK(report->missing.empty());
  CHECK(report->damage.empty());
  checkMerged(hosts);
  const ino_t after = inodeOf(hosts.merged / "rank_2" / "segment_000001.h5");
  CHECK((before == after) == (mode != dump::MergeMode::kCopy));
  CHECK(fs::exists(hosts.first) == (mode != dump::MergeMode::kMove));
  CHECK(fs::exists(hosts.second) == (mode != dump::MergeMode::kMove));
}

TEST_CASE("A folder alone says what it lacks and how to join it", "[merge]") {
  const Hosts hosts;
  const auto second = openRun(hosts.second);
  REQUIRE(second->damage().size() == 2);
  for (const dump::Damage& found : second->damage()) CHECK_THAT(found.what, Catch::Contains("msdbg merge"));
  CHECK(second->iterations(Rank(2)).size() == 4);
  fs::remove_all(hosts.second / "graphs");  // before format 1.2 only rank 0's host had them
  const auto old = dump::RunReader::open(hosts.second);
  REQUIRE_FALSE(old.ok());
  CHECK(old.error().code() == ErrorCode::kDamaged);
  CHECK_THAT(old.error().message(), Catch::Contains("msdbg merge"));
  const auto first = openRun(hosts.first);
  REQUIRE(first->damage().size() == 1);
  CHECK_THAT(first->damage()[0].what, Catch::Contains("msdbg merge"));
  CHECK(first->iterations(Rank(1)).size() == 4);
}

TEST_CASE("Folders that do not belong together are refused with what differs", "[merge]") {
  const Hosts hosts;
  SECTION("another run") {
    Hosts::change(hosts.second, [](dump::RunInfo& info) { info.id = std::string(32, 'b'); });
    CHECK_THAT(hosts.error(hosts.options()), Catch::Contains("not of the same run: they have id 'bbb"));
  }
  SECTION("runs of before there were ids are compared by what was run") {
    for (const fs::path& run : {hosts.first, hosts.second})
      Hosts::change(run, [](dump::RunInfo& info) { info.id.clear(); });
    CHECK(dump::mergeRuns(hosts.options()).ok());
    fs::remove_all(hosts.merged);
    Hosts::change(hosts.second, [](dump::RunInfo& info) { info.seed = 7; });
    CHECK_THAT(hosts.error(hosts.options()), Catch::Contains("seed '7' and '0'"));
  }
  SECTION("a rank twice") {
    dump::MergeOptions options = hosts.options();
    options.folders.push_back(hosts.second);
    CHECK_THAT(hosts.error(options), Catch::Contains("rank 2 is in both"));
  }
  SECTION("no graph") {
    dump::MergeOptions options = hosts.options();
    options.folders = {hosts.second};
    fs::remove_all(hosts.second / "graphs");
    CHECK_THAT(hosts.error(options), Catch::Contains("none of the folders has the graph"));
  }
  SECTION("no run") {
    dump::MergeOptions options = hosts.options();
    options.folders.push_back(hosts.folder.path());
    CHECK_THAT(hosts.error(options), Catch::Contains("no run.json"));
  }
  SECTION("still being recorded") {
    fs::remove_all(hosts.second / "rank_2");
    auto recorder = dump::Recorder::create({hosts.second, Rank(2), kRanks, 1}, {});
    REQUIRE(recorder.ok());
    CHECK_THAT(hosts.error(hosts.options()), Catch::Contains("rank 2 is still being recorded"));
  }
}

TEST_CASE("Ranks that no folder has are listed", "[merge]") {
  const Hosts hosts;
  dump::MergeOptions options = hosts.options();
  options.folders = {hosts.first};
  const auto report = dump::mergeRuns(options);
  REQUIRE(report.ok());
  CHECK(report->missing == std::vector<std::int64_t>{2});
  CHECK(openRun(hosts.merged)->ranks().size() == 2);
}

TEST_CASE("What is there already is not touched", "[merge]") {
  const Hosts hosts;
  fs::create_directories(hosts.merged);
  CHECK(dump::mergeRuns(hosts.options()).ok());  // an empty folder may be used
  const std::string before = readText(hosts.merged / "run.json");
  const auto again = dump::mergeRuns(hosts.options());
  CHECK(again.error().code() == ErrorCode::kUsage);
  CHECK(readText(hosts.merged / "run.json") == before);
}

TEST_CASE("A merge that is cancelled at any moment leaves nothing, and moves nothing", "[merge]") {
  const Hosts hosts;
  std::uint64_t all = 0;
  for (int step = 0; step < 12; ++step) {
    dump::MergeOptions options = hosts.options(step % 2 ? dump::MergeMode::kMove : dump::MergeMode::kCopy);
    core::CancelToken cancel;
    options.cancel = cancel;
    int pieces = 0;
    options.progress = [&](std::uint64_t, std::uint64_t bytes) {
      all = bytes;
      if (++pieces > step) cancel.cancel();
    };
    const auto report = dump::mergeRuns(options);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().code() == ErrorCode::kCancelled);
    CHECK_FALSE(fs::exists(hosts.merged));
    for (const auto& entry : fs::directory_iterator(hosts.folder.path()))
      CHECK(entry.path().extension() != ".tmp");
  }
  CHECK(all > 0);
  CHECK(dump::mergeRuns(hosts.options()).ok());
  checkMerged(hosts);
}

TEST_CASE("Damage in a folder is told and taken over, and costs nothing else", "[merge]") {
  const Hosts hosts;
  const fs::path segment = hosts.second / "rank_2" / "segment_000001.h5";
  SECTION("a flipped byte") {
    std::string bytes = readText(segment);
    bytes[bytes.size() / 2] ^= 1;
    writeText(segment, bytes);
    const auto report = dump::mergeRuns(hosts.options());
    REQUIRE(report.ok());
    REQUIRE(report->damage.size() == 1);
    CHECK(report->damage[0].where == segment.string());
    CHECK(report->damage[0].what == "does not match its hash");
    CHECK(report->damage[0].iterations == std::vector<std::int64_t>{1});
  }
  SECTION("a lost file") {
    fs::remove(segment);
    const auto report = dump::mergeRuns(hosts.options());
    REQUIRE(report.ok());
    REQUIRE_FALSE(report->damage.empty());
    CHECK(report->damage[0].where == segment.string());
  }
  const auto run = openRun(hosts.merged);
  for (const std::int64_t i : {0, 2, 3}) CHECK(firstDifference(*run, 2, i).empty());
  CHECK_FALSE(run->verify({}, {}).empty());
}

TEST_CASE("A folder that holds something else stays when it is moved", "[merge]") {
  const Hosts hosts;
  writeText(hosts.second / "notes.txt", "mine");
  const auto report = dump::mergeRuns(hosts.options(dump::MergeMode::kMove));
  REQUIRE(report.ok());
  CHECK(report->remaining == std::vector<fs::path>{hosts.second});
  CHECK(readText(hosts.second / "notes.txt") == "mine");
  CHECK_FALSE(fs::exists(hosts.second / "rank_2"));
}

TEST_CASE("The worst end of all hosts is the run's", "[merge]") {
  const Hosts hosts;
  Hosts::change(hosts.second, [](dump::RunInfo& info) {
    info.end = {.state = "killed", .message = "rank 2 was killed", .rank = 2};
  });
  REQUIRE(dump::mergeRuns(hosts.options()).ok());
  CHECK(openRun(hosts.merged)->info().end.message == "rank 2 was killed");
}

}  // namespace msdbg::test
