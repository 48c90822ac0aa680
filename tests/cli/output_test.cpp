// What the commands print: golden files hold the keys of every JSON document and the shape of every report.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

struct Golden {
  const char* name;
  std::vector<std::string> arguments;
  int exitStatus = 0;
};

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> kGoldens = {
      {"info", {"info", "faulty.msdbg", "--tensors", "*fc2/weight"}},
      {"check", {"check", "faulty.msdbg", "--why"}, 3},
      {"check_clean", {"check", "clean.msdbg"}},
      {"search_line", {"search", "clean.msdbg", "mlp.cpp:1-999"}},
      {"search_text", {"search", "clean.msdbg", "*fc2*"}},
      {"show",
       {"show", "clean.msdbg", "--tensor", "fc3/bias", "--rank", "1", "--iteration", "2", "--slice", ":4"}},
      {"stats", {"stats", "clean.msdbg", "--tensor", "fc2/weight"}},
      {"stats_some",
       {"stats", "clean.msdbg", "--tensor", "fc2/weight", "--ranks", "1", "--iterations", "1-2"}},
      {"replay", {"replay", "replayable.msdbg", "--prove"}},
      {"replay_different", {"replay", "planted.msdbg", "--prove"}, 3},
      {"precision",
       {"replay", "planted.msdbg", "--iteration", "1", "--dtype", "float64", "--rank", "1", "--tensors",
        "network/fc2/Gemm-op1"},
       3},
      {"precision_computed",
       {"replay", "replayable.msdbg", "--iteration", "1", "--dtype", "float64", "--rank", "1", "--tensors",
        "grad/network/fc1/Allreduce-op1", "--all"}},
      {"history", {"history", "replayable.msdbg", "--tensor", "network/fc1/bias", "--index", "3"}},
      {"diff", {"diff", "clean.msdbg", "faulty.msdbg"}, 3},
      {"diff_ranks", {"diff", "clean.msdbg", "--ranks", "0,1"}},
      {"diff_iterations",
       {"diff", "clean.msdbg", "--iterations", "0,2", "--tensors", "*weight", "--rank", "0"},
       3},
      {"diff_recomputed", {"diff", "planted.msdbg", "--recomputed"}, 3},
      {"why", {"why", "planted.msdbg", "--rank", "1", "--iteration", "1"}},
      {"why_finite",
       {"why", "replayable.msdbg", "--tensor", "network/fc1/bias", "--index", "3", "--iteration", "2"}},
      {"show_computed",
       {"show", "replayable.msdbg", "--tensor", "fc1/Relu-op1", "--iteration", "1", "--slice", "0,:3"}},
      {"verify", {"verify", "clean.msdbg"}},
      {"models", {"models"}},
      {"conditions", {"conditions", "gradient_vanishing"}},
      {"compile", {"compile", "lenet5", "--log", "--passes=-layout"}},
      {"bench", {"bench", "mlp", "--steps", "2", "--threads", "1", "--batch", "8"}},
      {"dump", {"dump", "mlp", "-n", "2", "--steps", "3", "--dry-run", "-o", "new.msdbg", "--threads", "1"}},
      {"dump_rules",
       {"dump", "mlp", "-n", "2", "--steps", "30", "--dry-run", "-o", "new.msdbg", "--threads", "1",
        "--record", "grad(*)=full,every=10", "--record", "*=full,kind=weight,ranks=0"}}};
  return kGoldens;
}

}  // namespace

TEST_CASE("Every command prints the JSON keys of its golden file", "[cli]") {
  cleanRun(), faultyRun(), replayableRun(), plantedRun();
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.name);
    checkGolden(std::string(golden.name) + ".keys", keysOf(msdbgJson(golden.arguments, golden.exitStatus)));
  }
}

TEST_CASE("merge prints what its golden files show", "[cli]") {
  cleanRun(), faultyRun();
  const TempDir folder;
  checkGolden("merge.keys", keysOf(msdbgJson({"merge", "clean.msdbg", "-o", folder / "json.msdbg"})));
  const RunResult result = msdbg({"merge", "clean.msdbg/", "-o", folder / "text.msdbg"});
  CHECK(result.exitStatus == 0);
  CHECK(result.err == "");
  checkGolden("merge.txt", shapeOf(result.out));
  CHECK(msdbg({"verify", folder / "text.msdbg"}).exitStatus == 0);
  const RunResult again = msdbg({"merge", "clean.msdbg", "-o", folder / "text.msdbg"});
  CHECK(again.exitStatus == 2);
  CHECK_THAT(again.err, Catch::Contains("is there already; choose another name with -o"));
  CHECK(msdbg({"merge", "--link", "--move", "clean.msdbg"}).exitStatus == 2);
  CHECK(msdbg({"merge"}).exitStatus == 2);
}

TEST_CASE("dump refuses a run that is there before it says anything else", "[cli]") {
  const TempDir folder;
  std::filesystem::create_directory(folder / "run.msdbg");
  std::ofstream(folder / "run.msdbg/run.json") << "{}";
  const RunResult refused = msdbg({"dump", "mlp", "-o", (folder / "run.msdbg").string()});
  CHECK(refused.exitStatus == 2);
  CHECK(refused.out == "");
  CHECK_THAT(refused.err,
             Catch::Contains("is there already; choose another name with -o, or replace it with --force"));
}

TEST_CASE("Every command prints for people what its golden file shows", "[cli]") {
  cleanRun(), faultyRun(), replayableRun(), plantedRun();
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.name);
    const RunResult result = msdbg(golden.arguments);
    CHECK(result.exitStatus == golden.exitStatus);
    CHECK(result.err == "");
    checkGolden(std::string(golden.name) + ".txt", shapeOf(result.out));
  }
}

TEST_CASE("diff --values holds a tensor against what NumPy would read, bit by bit", "[cli]") {
  cleanRun();
  const TempDir folder;
  const std::string file = folder / "w.npy";
  const std::vector<std::string> tensor = {"--tensor", "network/fc2/weight", "--iteration", "1"};
  std::vector<std::string> show = {"show", "clean.msdbg", "--npy", file},
                           diff = {"diff", "clean.msdbg", "--values", file};
  show.insert(show.end(), tensor.begin(), tensor.end());
  diff.insert(diff.end(), tensor.begin(), tensor.end());
  REQUIRE(msdbg(show).exitStatus == 0);
  CHECK(msdbgJson(diff)["measures"]["different"] == 0);
  diff.back() = "2";  // the weights have moved by then
  const auto moved = msdbgJson(diff, 3);
  CHECK(moved["differs"] == true);
  CHECK(moved["measures"]["max_abs"] > 0);
  diff.insert(diff.end(), {"--tolerance", "1"});
  CHECK(msdbgJson(diff)["verdict"] == "within_tolerance");
}

TEST_CASE("diff says what it cannot be asked", "[cli]") {
  cleanRun();
  const auto mistake = [](std::vector<std::string> arguments, const std::string& says) {
    arguments.insert(arguments.begin(), "diff");
    const RunResult result = msdbg(arguments);
    CAPTURE(result.err);
    CHECK(result.exitStatus == 2);
    CHECK_THAT(result.err, Catch::Contains(says));
  };
  mistake({}, "with what?");
  mistake({"clean.msdbg", "clean.msdbg"}, "are one run");
  mistake({"clean.msdbg", "--ranks", "0"}, "give the two");
  mistake({"clean.msdbg", "--ranks", "0,7"}, "has no rank 7");
  mistake({"clean.msdbg", "--iterations", "0,99"}, "is not recorded");
  mistake({"clean.msdbg", "--ranks", "0,1", "--tolerance", "-1"}, "is no tolerance");
  mistake({"clean.msdbg", "--ranks", "0,1", "--tensors", "nosuch*"}, "nosuch");
  mistake({"clean.msdbg", "--values", "x.npy"}, "of which tensor?");
  mistake({"clean.msdbg", "--ranks", "0,1", "--tensor", "fc1/weight"}, "--tensors fc1/weight");
  mistake({"clean.msdbg", "--recomputed", "--tolerance", "auto"}, "exact or a number");
  const TempDir empty;
  const RunResult alone = runMsdbg({"diff", cleanRun().string()}, {.folder = empty.path()});
  CHECK(alone.exitStatus == 2);
  CHECK_THAT(alone.err, Catch::Contains("and what? There is no newest run (*.msdbg) here"));
}

TEST_CASE("diff of two programs does not call them equal for what has the same name in both", "[cli]") {
  cleanRun();
  REQUIRE(msdbg({"dump", "gpt", "-n", "2", "--threads", "1", "--steps", "1", "--batch", "2", "--policy",
                 "stats", "--lr", "0.01", "-o", "other.msdbg"})
              .exitStatus == 0);
  const RunResult found =
      msdbg({"diff", "clean.msdbg", "other.msdbg", "--tensors", "optimizer/learning_rate"});
  CHECK(found.exitStatus == 4);
  CHECK_THAT(found.out, Catch::Contains("they are of two programs, and cannot be compared") &&
                            !Catch::Contains("equal in every bit"));
}

TEST_CASE("The tables of operators and conditions can be printed", "[cli]") {
  CHECK(msdbg({"ops"}).out.find("Conv") != std::string::npos);
  CHECK(msdbgJson({"ops"})["ops"].size() > 20);
  CHECK(msdbgJson({"conditions"})["conditions"].size() >= 12);
}

TEST_CASE("The committed table of operators is what msdbg prints", "[cli]") {
  const fs::path file = sourceDir() / "core_engine/ops/OPERATORS.md";
  const std::string printed = msdbg({"ops", "--markdown"}).out;
  if (std::getenv("MSDBG_UPDATE_GOLDEN")) std::ofstream(file, std::ios::binary) << printed;
  std::ifstream committed(file, std::ios::binary);
  std::istringstream now(printed);
  for (std::string a, b; std::getline(now, a);) {
    INFO("msdbg ops --markdown > core_engine/ops/OPERATORS.md");
    if (!std::getline(committed, b)) b = "(nothing)";
    CHECK(a == b);
  }
  CHECK(committed.peek() == std::ifstream::traits_type::eof());
}

TEST_CASE("bench --profile has the time of every kernel, the longest first, beside a matrix product's",
          "[cli][slow]") {
  const auto bench = msdbgJson({"bench", "lenet5", "--steps", "2", "--batch", "8", "--profile"});
  std::vector<double> times;
  std::int64_t calls = 0;
  for (const auto& kernel : bench["kernels"]) {
    times.push_back(kernel["ms"]);
    if (kernel["kernel"] == "dnnl:Conv") calls = kernel["calls"];
  }
  CHECK(calls == 2);  // conv1 and conv2
  CHECK(std::ranges::is_sorted(times, std::greater<>()));
  CHECK(times.front() > 0);
  CHECK(bench["sgemm_gflops"] > 0);
  CHECK(bench["growth_mb"] > 1);  // 1.2 MB of weights, gradients and momenta alone
}

TEST_CASE("check names the planted fault first, with its line", "[cli]") {
  faultyRun();
  const auto first = msdbgJson({"check", "faulty.msdbg"}, 3)["first"];
  CHECK(first["iteration"] == 1);
  CHECK(first["rank"] == 1);
  CHECK(first["node"].get<std::string>().ends_with("fc2/Gemm-op1"));
  CHECK(first["condition"] == "nonfinite_propagation");
  CHECK(first["source"]["file"].get<std::string>().ends_with("mlp.cpp"));
  CHECK(first["source"]["line"].get<int>() > 0);
}

TEST_CASE("check --why follows what is to blame and says so, or that the node itself went wrong", "[cli]") {
  const auto steep = (steepRun(), msdbgJson({"check", "steep.msdbg", "--why"}, 3))["why"];
  REQUIRE(steep.size() == 1);
  CHECK(steep[0]["tensor"] == "optimizer/learning_rate:0");
  CHECK(steep[0]["iteration"] == 2);
  CHECK(steep[0]["reason"] ==
        "input 2 (optimizer/learning_rate) reaches 1000, usually 0.01 (median of 2 iterations before)");
  const auto faulty = (faultyRun(), msdbgJson({"check", "faulty.msdbg", "--why"}, 3))["why"];
  CHECK(faulty.empty());
  CHECK_THAT(msdbg({"check", "faulty.msdbg", "--why"}).out,
             Catch::Contains("WHY: every recorded input of network/fc2/Gemm-op1 is as usual"));
}

TEST_CASE("check prints one hit with --first, folded hits without, and all with --all", "[cli]") {
  faultyRun();
  const auto first = msdbgJson({"check", "faulty.msdbg", "--first"}, 3);
  const auto folded = msdbgJson({"check", "faulty.msdbg"}, 3);
  const auto all = msdbgJson({"check", "faulty.msdbg", "--all"}, 3);
  CHECK(first["hits"].size() == 1);
  CHECK(folded["hits"].size() > 1);
  CHECK(all["hits"].size() == all["hits_in_all"]);
  CHECK(folded["hits"].size() <= all["hits"].size());
  std::int64_t occurrences = 0;
  for (const auto& hit : folded["hits"]) occurrences += hit["occurrences"].get<std::int64_t>();
  CHECK(occurrences == static_cast<std::int64_t>(all["hits"].size()));
}

TEST_CASE("check without a fault in the selected iterations or ranks ends with 0", "[cli]") {
  faultyRun();
  CHECK(msdbg({"check", "faulty.msdbg", "--iterations", "0"}).exitStatus == 0);
  CHECK(msdbg({"check", "faulty.msdbg", "-w", "tensor_overflow", "--ranks", "0", "--iterations", "0"})
            .exitStatus == 0);
  CHECK(msdbg({"check", "faulty.msdbg", "-w", "tensor_overflow", "-w", "weight_not_changed"}).exitStatus ==
        3);
}

TEST_CASE("check of a part of the run says that its word is of that part alone", "[cli]") {
  cleanRun();
  CHECK_THAT(msdbg({"check", "clean.msdbg"}).out, !Catch::Contains("in what was selected"));
  CHECK_THAT(
      msdbg({"check", "clean.msdbg", "--iterations", "0-1"}).out,
      Catch::Contains("no fault found in what was selected") && !Catch::Contains("ranks were not compared"));
  CHECK_THAT(msdbg({"check", "clean.msdbg", "--ranks", "0"}).out,
             Catch::Contains("no fault found in what was selected, and ranks were not compared"));
}

TEST_CASE("show --npy writes what NumPy reads back", "[cli]") {
  cleanRun();
  const TempDir folder;
  const std::string file = folder / "bias.npy";
  const auto shown = msdbgJson({"show", "clean.msdbg", "--tensor", "fc3/bias"});
  CHECK(msdbg({"show", "clean.msdbg", "--tensor", "fc3/bias", "--npy", file}).exitStatus == 0);
  // Debian's, which has NumPy as a package; another one may come first in PATH.
  const RunResult python =
      runCommand({fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3", "-c",
                  "import numpy, sys; a = numpy.load(sys.argv[1]); print(a.dtype, a.shape, "
                  "[float(v) for v in a])",
                  file});
  INFO(python.err);
  std::string expected = "float32 (10,) [";
  REQUIRE(python.out.starts_with(expected));
  const auto values = nlohmann::json::parse(python.out.substr(expected.size() - 1));
  CHECK(values == nlohmann::json(shown["values"]));
}

TEST_CASE("show --slice gives the part that NumPy would", "[cli]") {
  cleanRun();
  const auto all = msdbgJson({"show", "clean.msdbg", "--tensor", "fc3/weight"});
  const auto part = msdbgJson({"show", "clean.msdbg", "--tensor", "fc3/weight", "--slice", "-1,3:5"});
  REQUIRE(part["values"].size() == 2);
  CHECK(part["values"][0] == all["values"][9][3]);
  CHECK(part["values"][1] == all["values"][9][4]);
}

TEST_CASE("Without RUN the newest run of the folder is used and named on stderr", "[cli]") {
  cleanRun(), faultyRun();
  fs::last_write_time(cleanRun() / "run.json", fs::file_time_type::clock::now());
  fs::last_write_time(cleanRun(), fs::file_time_type::clock::now());
  const RunResult result = msdbg({"stats", "--tensor", "fc2/weight"});
  CHECK(result.exitStatus == 0);
  CHECK(result.err == "msdbg: using clean.msdbg\n");
}

TEST_CASE("--help of every command shows examples, and --version what is built in", "[cli]") {
  for (const char* command : {"dump", "info", "check", "search", "show", "stats", "verify", "models",
                              "conditions", "ops", "bench"}) {
    CAPTURE(command);
    const RunResult help = msdbg({command, "--help"});
    CHECK(help.exitStatus == 0);
    CHECK(help.out.find("Examples:\n  msdbg " + std::string(command)) != std::string::npos);
    CHECK(help.out.find("--json") != std::string::npos);
  }
  const std::string version = msdbg({"--version"}).out;
  for (const char* part : {"msdbg 0.", "MPI:", "CUDA: ", "GUI:"})
    CHECK(version.find(part) != std::string::npos);
  const std::string overview = msdbg({"--help"}).out;
  CHECK(overview.find("train-model") == std::string::npos);
  CHECK(overview.find("check") != std::string::npos);
}

TEST_CASE("A reader that goes away ends a command quietly", "[cli]") {
  faultyRun();
  const RunResult result = runCommand({"bash", "-c",
                                       "'" + (buildDir() / "bin" / "msdbg").string() + "' check '" +
                                           faultyRun().string() + "' --all | head -1"});
  CHECK(result.err == "");
  CHECK(result.out.starts_with("FIRST WRONG"));
}

}  // namespace msdbg::test
