// Mistakes and broken runs: the exit status, and one line that says what, where and what to do.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <tuple>

#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

struct Mistake {
  std::vector<std::string> arguments;
  int exitStatus;
  std::vector<std::string> says;  // parts of the line
};

void checkMistake(const Mistake& mistake) {
  const RunResult result = msdbg(mistake.arguments);
  CAPTURE(mistake.arguments, result.err);
  CHECK(result.exitStatus == mistake.exitStatus);
  CHECK(result.err.starts_with("msdbg: error: "));
  CHECK(std::ranges::count(result.err, '\n') == 1);
  for (const std::string& part : mistake.says) CHECK_THAT(result.err, Catch::Contains(part));
}

}  // namespace

TEST_CASE("A mistake on the command line ends with 2 and names what was probably meant", "[cli]") {
  cleanRun();
  const std::vector<Mistake> mistakes = {
      {{"chekc"}, 2, {"chekc", "check"}},
      {{"frobnicate"}, 2, {"frobnicate", "--help"}},
      {{"check", "--wacht", "tensor_overflow"}, 2, {"--wacht", "--watch"}},
      {{"check", "a", "b"}, 2, {"'b'"}},
      {{"check", "clean.msdbg", "-w", "tensor_overflo"}, 2, {"tensor_overflow"}},
      {{"check", "clean.msdbg", "-w", "gradient_vanishing:abs_meen_lt=1"}, 2, {"abs_mean_lt"}},
      {{"check", "clean.msdbg", "-w", "tensor_all_zero:zero_percentage_ge=200"}, 2, {"100"}},
      {{"check", "clean.msdbg", "-w"}, 2, {"-w"}},
      {{"check", "clean.msdbg", "--first", "--all"}, 2, {"--first", "--all"}},
      {{"check", "clean.msdbg", "--ranks", "7"}, 2, {"0-1"}},
      {{"check", "clean.msdbg", "--iterations", "x"}, 2, {"--iterations"}},
      {{"check", "clean.msdbg", "--iterations", "90-"}, 2, {"0-2"}},
      {{"show", "clean.msdbg", "--tensor", "fc2/wieght"}, 2, {"fc2/weight"}},
      {{"show", "clean.msdbg", "--tensor", "weight"}, 2, {"fc1/weight", "fc2/weight"}},
      {{"show", "clean.msdbg", "--tensor", "fc2/weight", "--rank", "5"}, 2, {"rank 5", "0-1"}},
      {{"show", "clean.msdbg", "--tensor", "fc2/weight", "--iteration", "99"}, 2, {"iteration 99", "0-2"}},
      {{"show", "clean.msdbg", "--tensor", "fc2/weight", "--iteration", "abc"}, 2, {"--iteration", "abc"}},
      {{"show", "clean.msdbg", "--tensor", "fc2/weight", "--slice", "1,2,3"}, 2, {"--slice", "2 dimensions"}},
      {{"show", "clean.msdbg"}, 2, {"--tensor"}},
      {{"stats", "clean.msdbg", "--tensor", "fc1/weight", "--iterations", "90-"}, 2, {"ranks 0-1", "0-2"}},
      {{"stats", "clean.msdbg", "--tensor", "fc1/weight", "--ranks", "x"}, 2, {"--ranks"}},
      {{"stats", "clean.msdbg", "--tensor", "nothing*"}, 2, {"nothing*", "msdbg info --tensors '*'"}},
      {{"search", "clean.msdbg", "mlp.cxx:3"}, 2, {"mlp.cpp"}},
      {{"search", "clean.msdbg", "mlp.cpp:1"}, 2, {"nearest lines"}},
      {{"conditions", "dead_rulu"}, 2, {"dead_relu"}},
      {{"conditions", "nope"}, 2, {"'nope'", "msdbg conditions lists them"}},
      {{"check", "clean.msdbg", "-w", "nope"}, 2, {"'nope'", "msdbg conditions"}},
      {{"dump", "mlp", "--on-hit", "nope"}, 2, {"--on-hit", "'nope'", "msdbg conditions"}},
      {{"bench", "mlp", "--threads", "100000"}, 2, {"--threads", "1 to 1024"}},
      {{"bench", "mpl"}, 2, {"mlp"}},
      {{"bench"}, 2, {"model"}},
      {{"dump"}, 2, {"PROGRAM"}},
      {{"dump", "alexnett"}, 2, {"alexnet"}},
      {{"dump", "mlp", "-n", "3", "--batch", "64"}, 2, {"--batch 66"}},
      {{"dump", "mlp", "--policy", "ful"}, 2, {"full", "stats"}},
      {{"dump", "mlp", "--steps", "0"}, 2, {"--steps"}},
      {{"dump", "mlp", "--threads", "0"}, 2, {"--threads"}},
      {{"dump", "mlp", "--threads", "100000"}, 2, {"--threads 100000", "from 1 to 1024"}},
      {{"dump", "mlp", "--max-size", "lots"}, 2, {"--max-size"}},
      {{"dump", "mlp", "--dropout", "0.5"}, 2, {"mlp"}},
      {{"dump", "mlp", "--layers", "2"}, 2, {"--layers", "mlp"}},
      {{"dump", "gpt", "--width", "100"}, 2, {"gpt", "width 100", "8 heads", "104"}},
      {{"dump", "gpt", "--heads", "0"}, 2, {"--heads"}},
      {{"dump", "gpt", "--vocabulary", "100"}, 2, {"words", "vocabulary of 100"}},
      {{"dump", "--context", "8", "--", "true"}, 2, {"sizes are for models"}},
      {{"dump", "mlp", "--fault", "nann@iteration=1"}, 2, {"nan"}},
      {{"dump", "mlp", "--fault", "nan@iteration=1,rank=1"}, 2, {"rank 1"}},
      {{"dump", "mlp", "--fault", "nan@iteration=1,node=*fc9*"}, 2, {"fc9"}},
      {{"dump", "mlp", "--tensors", "fc9*"}, 2, {"fc9*"}},
      {{"dump", "mlp", "--record", "grad(*)"}, 2, {"--record", "GLOB=full|stats|flags|record|none"}},
      {{"dump", "mlp", "--record", "*=full,kind=wieght"}, 2, {"--record", "kind", "wieght", "weight"}},
      {{"dump", "mlp", "--record", "*=full,evry=2"}, 2, {"evry", "every"}},
      {{"dump", "mlp", "--record", "*fc1/wieght=full"}, 2, {"*fc1/wieght", "did you mean fc1/weight"}},
      {{"dump", "mlp", "--record", "*weight=full,kind=loss"}, 2, {"all its filters"}},
      {{"dump", "mlp", "--record"}, 2, {"--record"}},
      {{"dump", "mlp", "--config", "no.json"}, 2, {"--config", "no.json"}},
      {{"dump", "mlp", "--every", "0"}, 2, {"--every"}},
      {{"dump", "mlp", "--data", "mnsit:/x"}, 2, {"mnist"}},
      {{"dump", "mlp", "-o", "clean.msdbg"}, 2, {"clean.msdbg", "--force"}},
      {{"dump", "--", "./no_such_program"}, 2, {"./no_such_program"}},
      {{"dump", "--lr", "1", "--", "true"}, 2, {"--lr"}},
      {{"dump", "mlp", "--", "true"}, 2, {"not both"}}};
  for (const Mistake& mistake : mistakes) checkMistake(mistake);
}

TEST_CASE("Nothing at all is answered with the list of commands and 2", "[cli]") {
  const RunResult result = msdbg({});
  CHECK(result.exitStatus == 2);
  CHECK_THAT(result.err, Catch::Contains("dump") && Catch::Contains("check"));
  CHECK(result.out == "");
}

TEST_CASE("What cannot be cut or written is refused before anything is computed for it", "[cli]") {
  replayableRun();
  RunOptions talkative;
  talkative.folder = replayableRun().parent_path();
  talkative.environment = {{"MSDBG_PROGRESS_LINES", "1"}};
  const std::vector<std::string> show = {"show",         "replayable.msdbg", "--tensor",
                                         "fc1/Relu-op1", "--iteration",      "1"};
  const auto asked = [&](std::vector<std::string> more) {
    more.insert(more.begin(), show.begin(), show.end());
    return runMsdbg(more, talkative);
  };
  CHECK_THAT(asked({}).err, Catch::Contains("computing iteration"));
  for (const auto& [more, status, says] :
       {std::tuple{std::vector<std::string>{"--slice", "99"}, 2, "--slice: '99' for dimension 0"},
        std::tuple{std::vector<std::string>{"--npy", "no/such/folder/a.npy"}, 1,
                   "cannot write no/such/folder/a.npy"},
        std::tuple{std::vector<std::string>{"--npy", "."}, 1, "Is a directory"}}) {
    const RunResult refused = asked(more);
    CHECK(refused.exitStatus == status);
    CHECK_THAT(refused.err, Catch::Contains(says) && !Catch::Contains("computing iteration"));
  }
}

TEST_CASE("A run that is not there ends with 1 and names those that are", "[cli]") {
  cleanRun();
  checkMistake({{"check", "claen.msdbg"}, 1, {"claen.msdbg", "clean.msdbg"}});
  checkMistake({{"open", "claen.msdbg"}, 1, {"claen.msdbg", "clean.msdbg"}});  // not: there is no display
  const TempDir empty;
  const RunResult result = runMsdbg({"check"}, {.folder = empty.path()});
  CHECK(result.exitStatus == 1);
  CHECK_THAT(result.err, Catch::StartsWith("msdbg: error: ") && Catch::Contains("msdbg"));
}

TEST_CASE("What is not a run ends with 1 and says so", "[cli]") {
  const TempDir folder;
  fs::create_directory(folder / "empty.msdbg");
  std::ofstream(folder / "file.msdbg") << "hello";
  fs::create_directory(folder / "broken.msdbg");
  std::ofstream(folder / "broken.msdbg/run.json") << "{\"format";
  for (const char* name : {"empty.msdbg", "file.msdbg", "broken.msdbg"})
    for (const char* command : {"info", "check", "verify"})
      checkMistake({{command, (folder / name).string()}, 1, {name}});
}

TEST_CASE("--force replaces a run, but nothing that is not one", "[cli]") {
  const TempDir folder;
  fs::create_directory(folder / "precious");
  std::ofstream(folder / "precious/thesis.txt") << "years";
  checkMistake(
      {{"dump", "mlp", "--force", "-o", (folder / "precious").string()}, 2, {"precious", "run.json"}});
  CHECK(fs::exists(folder / "precious/thesis.txt"));
  const fs::path run = copyOf(cleanRun(), folder);
  const RunResult again =
      msdbg({"dump", "mlp", "--steps", "1", "--batch", "4", "--force", "-o", run.string()});
  INFO(again.err);
  CHECK(again.exitStatus == 0);
  CHECK(msdbgJson({"info", run.string()})["ranks"].size() == 1);
}

TEST_CASE("verify names a flipped byte, and the other commands read the rest", "[cli]") {
  const TempDir folder;
  const fs::path run = copyOf(cleanRun(), folder);
  std::vector<fs::path> segments;
  for (const auto& entry : fs::directory_iterator(run / "rank_1"))
    if (entry.path().extension() == ".h5") segments.push_back(entry.path());
  std::ranges::sort(segments);
  REQUIRE_FALSE(segments.empty());
  std::fstream file(segments[0], std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(segments[0]) / 2);
  file.seekg(middle);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(middle).put(byte);
  file.close();

  const RunResult verify = msdbg({"verify", run.string()});
  CHECK(verify.exitStatus == 1);
  CHECK_THAT(verify.out, Catch::Contains("rank_1/" + segments[0].filename().string()));
  CHECK(msdbgJson({"verify", run.string()}, 1)["damage"].size() >= 1);
  CHECK(msdbg({"show", run.string(), "--tensor", "fc3/bias", "--rank", "0"}).exitStatus == 0);
}

TEST_CASE("A question that the recording cannot answer ends with 4", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "stats.msdbg";
  REQUIRE(
      msdbg({"dump", "mlp", "--steps", "2", "--batch", "4", "--policy", "stats", "--no-replay", "-o", run})
          .exitStatus == 0);
  const RunResult show = msdbg({"show", run, "--tensor", "fc2/weight"});
  CHECK(show.exitStatus == 4);
  CHECK_THAT(show.out, Catch::Contains("mean"));  // the statistics are there
  CHECK_THAT(show.err, Catch::StartsWith("msdbg: error: "));
  CHECK(msdbg({"stats", run, "--tensor", "fc2/weight"}).exitStatus == 0);
  const RunResult check = msdbg({"check", run, "-w", "collective_mismatch"});
  CHECK(check.exitStatus == 4);
  CHECK_THAT(check.out, Catch::StartsWith("nothing could be judged: ") && !Catch::Contains("no fault found"));
}

TEST_CASE("A run that was killed before its first commit has no statistics of a tensor that it has",
          "[cli]") {
  const TempDir folder;
  const fs::path run = folder / "early.msdbg";
  REQUIRE(msdbg({"dump", "mlp", "--steps", "1", "--batch", "4", "-o", run.string()}).exitStatus == 0);
  std::ifstream whole(run / "rank_0" / "journal");
  std::string kept;
  for (std::string line; std::getline(whole, line) && line.find("\"segment\"") == std::string::npos;)
    kept += line + "\n";
  std::ofstream(run / "rank_0" / "journal") << kept;
  fs::remove(run / "rank_0" / "segment_000000.h5");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--json"}, {"--recompute"}}) {
    std::vector<std::string> command = {"stats", run.string(), "--tensor", "fc2/weight"};
    command.insert(command.end(), more.begin(), more.end());
    const RunResult stats = msdbg(command);
    CAPTURE(command, stats.err);
    CHECK(stats.exitStatus == 4);
    CHECK_THAT(stats.err, Catch::Contains("has no statistics of fc2/weight"));
  }
}

TEST_CASE("check says of statistics that are lost that they are damaged, not that none were recorded",
          "[cli]") {
  const TempDir folder;
  const fs::path run = folder / "cut.msdbg";
  REQUIRE(msdbg({"dump", "mlp", "--steps", "2", "--batch", "4", "--policy", "stats", "-o", run.string()})
              .exitStatus == 0);
  for (const auto& entry : fs::directory_iterator(run / "rank_0"))
    if (entry.path().extension() == ".h5") fs::resize_file(entry.path(), 3000);
  const RunResult check = msdbg({"check", run.string()});
  INFO(check.out << check.err);
  CHECK(check.exitStatus == 1);
  CHECK_THAT(check.out, Catch::Contains("damaged") && !Catch::Contains("of what was asked is not recorded"));
}

TEST_CASE("show says that the newest iteration cannot be read when it shows one before it", "[cli]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  // A segment an iteration: a rank's share has room for four.
  REQUIRE(msdbg({"dump", "mlp", "--steps", "8", "--batch", "4", "--policy", "full", "--max-size", "60MB",
                 "-o", run.string()})
              .exitStatus == 0);
  const std::vector<std::string> show = {"show", run.string(), "--tensor", "fc2/weight"};
  CHECK_THAT(msdbg(show).out, Catch::Contains("rank 0, iteration 7"));
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(run / "rank_0"))
    if (entry.path().extension() == ".h5" && entry.file_size() > 1'000'000)
      newest = std::max(newest, entry.path());
  fs::resize_file(newest, 3000);
  const RunResult older = msdbg(show);
  CHECK_THAT(older.out, Catch::Contains("rank 0, iteration 6"));
  CHECK_THAT(older.err, Catch::Contains("is damaged: iteration 7 of rank 0 is left out"));
}

TEST_CASE("Folders of many ranks that are missing are one line", "[cli]") {
  const TempDir folder;
  const fs::path run = fs::path(folder / "three.msdbg");
  REQUIRE(runMsdbg({"dump", "mlp", "-o", run.string(), "-n", "3", "--threads", "1", "--steps", "1", "--batch",
                    "6"})
              .exitStatus == 0);
  fs::remove_all(run / "rank_1");
  fs::remove_all(run / "rank_2");
  const RunResult result = msdbg({"info", run.string()});
  CHECK_THAT(result.err, Catch::Contains("2 ranks are missing, 1-2 (the folder is missing;"));
  CHECK(std::ranges::count(result.err, '\n') == 2);  // and what to do
}

}  // namespace msdbg::test
