// What `msdbg dump` records by rules: what --dry-run tells, what is then in the run, and every way to say it.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;

Words dumpLenet(const std::string& run, const Words& extra) {
  Words words = {"dump", "lenet5", "--steps", "12", "--batch", "8", "--threads", "1", "-o", run};
  words.insert(words.end(), extra.begin(), extra.end());
  return words;
}

Words with(Words words, const std::string& word) {
  words.push_back(word);
  return words;
}

std::int64_t stored(const std::string& run, const std::string& tensor) {
  return msdbgJson({"info", run, "--tensors", tensor})["tensors"][0]["stored"];
}

std::string writeConfig(const TempDir& folder, const std::string& text) {
  const std::string file = folder / "recording.json";
  std::ofstream(file) << text;
  return file;
}

}  // namespace

TEST_CASE("The bytes that --dry-run tells are those that the recording then has", "[cli]") {
  const TempDir folder;
  const std::vector<Words> cases = {
      {},
      {"--policy", "stats"},
      {"--tensors", "*conv1*", "--every", "5"},
      {"-n", "2", "--record", "grad(*)=full,every=10", "--record", "*=full,kind=weight,ranks=0"},
      {"--policy", "full", "--record", "*=none,kind=optimizer_state", "--record", "*=stats,op=Conv*",
       "--iterations", "1-8"},
      {"--policy", "record"},
      {"--statistics", "flags"},
      {"-n", "2", "--policy", "record", "--record", "grad(*)=full,every=10", "--checkpoint-every", "5"},
      {"--policy", "stats", "--batches", "--checkpoint-every", "auto", "--iterations", "3-7,9-"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string run = folder / (std::to_string(i) + ".msdbg");
    const Words words = dumpLenet(run, cases[i]);
    CAPTURE(words);
    const Json expected = msdbgJson(with(words, "--dry-run"))["expected"];
    CHECK_FALSE(fs::exists(run));
    msdbgJson(words);
    const Json info = msdbgJson({"info", run});
    CHECK(expected["value_bytes"] == info["storage"]["raw_bytes"]);
    CHECK(expected["iterations"] == info["ranks"][0]["count"]);
    CHECK(expected["tensors"] == info["graph"]["tensors"]);
    std::int64_t values = 0, statistics = 0;
    for (const Json& rule : expected["rules"]) {
      values += rule["value_bytes"].get<std::int64_t>();
      statistics += rule["statistics_bytes"].get<std::int64_t>();
    }
    CHECK(values == expected["value_bytes"]);
    CHECK(statistics == expected["statistics_bytes"]);
    CHECK(values + statistics + expected["batch_bytes"].get<std::int64_t>() +
              expected["state_bytes"].get<std::int64_t>() ==
          expected["bytes"]);
    CHECK(expected["batch_bytes"] == info["storage"]["batch_bytes"]);
    CHECK(expected["state_bytes"] == info["storage"]["state_bytes"]);
    CHECK(expected["checkpoints"] == info["ranks"][0]["checkpoints"].size());
  }
}

TEST_CASE("The size of gpt that was chosen is trained and told by info, with all that chose the training",
          "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  msdbgJson({"dump",      "gpt", "-n",           "2",   "--steps",  "1",     "--batch", "4",
             "--threads", "1",   "--layers",     "1",   "--heads",  "2",     "--width", "8",
             "--context", "6",   "--vocabulary", "128", "--policy", "stats", "-o",      run});
  const auto shapeOf = [&](const char* tensor) {
    return msdbgJson({"info", run, "--tensors", tensor})["tensors"][0]["shape"];
  };
  CHECK(shapeOf("network/x") == Json({2, 6}));
  CHECK(shapeOf("network/head/weight") == Json({128, 8}));
  const Json info = msdbgJson({"info", run});
  CHECK(info["model_options"] == Json({{"data", "words"},
                                       {"batch", "4"},
                                       {"lr", "3e-04"},
                                       {"layers", "1"},
                                       {"heads", "2"},
                                       {"width", "8"},
                                       {"context", "6"},
                                       {"vocabulary", "128"}}));
}

TEST_CASE("Full for gradients every 10 iterations, statistics for the rest", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  msdbgJson(dumpLenet(run, {"--record", "grad(*)=full,every=10"}));
  CHECK(stored(run, "grad(network/conv1/weight)") == 2);
  CHECK(stored(run, "conv1/weight") == 0);
  for (const Json& row : msdbgJson({"stats", run, "--tensor", "conv1/weight"})["tensors"][0]["rows"])
    CHECK_FALSE(row["statistics"].is_null());
  const Json policy = msdbgJson({"info", run})["policy"];
  CHECK(policy["rules"] ==
        Json::parse(R"json([{"tensors": ["grad(*)"], "policy": "full", "every": 10}])json"));
  CHECK(policy["policy"] == "stats");
  CHECK_THAT(msdbg({"info", run}).out,
             Catch::Contains("recorded grad(*)=full,every=10; *=stats; values within 2.1 GB\n"));
  CHECK(msdbg({"verify", run}).exitStatus == 0);
}

TEST_CASE("With flags alone a NaN is found where statistics find it, and nothing else is judged", "[cli]") {
  const TempDir folder;
  const std::string flags = folder / "flags.msdbg", all = folder / "all.msdbg",
                    clean = folder / "clean.msdbg";
  const Words fault = {"-n", "2", "--no-replay", "--fault", "nan@iteration=4,rank=1,node=*conv2*"};
  const auto planted = [&](const Words& more) {
    Words words = fault;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  msdbgJson(dumpLenet(flags, planted({"--statistics", "flags"})));
  msdbgJson(dumpLenet(all, planted({"--statistics", "all"})));
  msdbgJson(dumpLenet(clean, {"--no-replay", "--statistics", "flags"}));
  for (const char* condition : {"nonfinite_propagation", "tensor_overflow"}) {
    CAPTURE(condition);
    const Json a = msdbgJson({"check", flags, "-w", condition}, 3),
               b = msdbgJson({"check", all, "-w", condition}, 3);
    REQUIRE(a["hits"].size() == b["hits"].size());
    CHECK(a["evaluated"] == b["evaluated"]);
    for (std::size_t i = 0; i < a["hits"].size(); ++i)
      for (const char* key : {"node", "tensor", "iteration", "rank", "count", "source"})
        CHECK(a["hits"][i][key] == b["hits"][i][key]);
  }
  CHECK(msdbgJson({"check", flags}, 3)["first"]["node"] == msdbgJson({"check", all}, 3)["first"]["node"]);
  const RunResult healthy = msdbg({"check", clean});
  CHECK(healthy.exitStatus == 0);
  CHECK_THAT(healthy.out,
             Catch::StartsWith("no NaN and no Inf found that is a fault; nothing else is recorded "
                               "of most tensors (--statistics flags)") &&
                 Catch::Contains("only NaN and Inf were counted (--statistics flags)"));
  const Json row = msdbgJson({"stats", clean, "--tensor", "conv1/weight"})["tensors"][0]["rows"][0];
  CHECK(row["statistics"]["nan"] == 0);
  CHECK(row["statistics"]["mean"].is_null());
  CHECK(row["statistics"]["hash"].is_null());
  CHECK_FALSE(msdbgJson({"stats", clean, "--tensor", "label"})["tensors"][0]["rows"][0]["statistics"]["mean"]
                  .is_null());
  CHECK_THAT(msdbg({"show", clean, "--tensor", "conv1/weight"}).out,
             Catch::Contains("nan 0   inf 0   (nothing else was to be recorded of it)"));
  CHECK(msdbg({"verify", clean}).exitStatus == 0);
}

TEST_CASE("Policy record says what can be computed again, and how far checkpoints are apart", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  const Words words = dumpLenet(run, {"--policy", "record", "--record", "grad(*)=full,every=10"});
  const Json expected = msdbgJson(with(words, "--dry-run"))["expected"];
  CHECK_THAT(msdbg(with(words, "--dry-run")).out, Catch::Contains("batches ") &&
                                                      Catch::Contains("checkpoints, every ") &&
                                                      Catch::Contains("*=record"));
  msdbgJson(words);
  const Json info = msdbgJson({"info", run});
  CHECK(info["recomputable"] == "0-11");
  CHECK(info["ranks"][0]["batches"] == "0-11");
  CHECK(expected["checkpoint_every"].get<int>() > 12);
  CHECK(info["longest_recomputation"]["iterations"] == 12);
  CHECK(info["longest_recomputation"]["seconds"].get<double>() > 0);
  CHECK_THAT(
      msdbg({"info", run}).out,
      Catch::Contains("replay   iterations 0-11 can be computed again, which takes 12 iterations or ") &&
          Catch::Contains(" at most, and gone on from (--resume, msdbg::restore): 1 checkpoint, ") &&
          Catch::Contains("batches of 12 iterations; msdbg verify reads whether all of these are whole\n"));
  CHECK(stored(run, "grad(network/conv1/weight)") == 2);
  CHECK(msdbg({"verify", run}).exitStatus == 0);
  CHECK_THAT(msdbg({"check", run}).out,
             Catch::StartsWith("no fault found, but most of what was asked is not recorded; "
                               "the run is complete\n"));
  const RunResult stats = msdbg({"stats", run, "--tensor", "conv1/weight"});
  CHECK(stats.exitStatus == 4);
  CHECK_THAT(stats.out, Catch::Contains("no statistics of it are recorded; msdbg show"));
  CHECK_THAT(stats.out, !Catch::Contains("not recorded"));
}

TEST_CASE("show prints what policy record keeps: hashes, and values of checkpoints and batches", "[cli]") {
  const TempDir folder;
  const std::string record = folder / "record.msdbg", full = folder / "full.msdbg";
  msdbgJson(dumpLenet(record, {"--policy", "record", "--checkpoint-every", "5"}));
  msdbgJson(dumpLenet(full, {"--policy", "full"}));
  const auto shown = [&](const std::string& run, const std::string& tensor, int iteration) {
    return msdbgJson({"show", run, "--tensor", tensor, "--iteration", std::to_string(iteration)});
  };
  for (const auto& [tensor, origin] :
       {std::pair{"conv1/weight", "checkpoint"}, std::pair{"momentum(network/fc3/bias)", "checkpoint"},
        std::pair{"network/x", "batch"}, std::pair{"network/label", "batch"}}) {
    const Json kept = shown(record, tensor, 10), whole = shown(full, tensor, 10);
    CHECK(kept["origin"] == origin);
    CHECK(whole["origin"] == "tensor");
    CHECK(kept["values"].is_array());
    CHECK(kept["values"] == whole["values"]);
    CHECK(kept["hash"].is_string());
    CHECK(kept["hash"] == whole["hash"]);
    CHECK(kept["statistics"]["mean"] == whole["statistics"]["mean"]);
  }
  const Json stored =
      msdbgJson({"show", record, "--tensor", "conv1/Conv-op1", "--iteration", "3", "--stored"}, 4);
  CHECK(stored["hash"] == shown(full, "conv1/Conv-op1", 3)["hash"]);
  CHECK(stored["origin"].is_null());
  const Json computed = shown(record, "conv1/Conv-op1", 3);
  CHECK(computed["origin"] == "computed");
  CHECK(computed["stored"] == false);
  CHECK(computed["computed"]["from"] == 0);
  CHECK(computed["computed"]["evidence"] == "recorded_hash");
  CHECK(computed["values"] == shown(full, "conv1/Conv-op1", 3)["values"]);
  const RunResult between =
      msdbg({"show", record, "--tensor", "conv1/weight", "--iteration", "7", "--stored"});
  CHECK(between.exitStatus == 4);
  CHECK_THAT(between.out, Catch::Contains("  hash "));
  CHECK_THAT(between.err, Catch::Contains("the nearest value is that of --iteration 5"));
  CHECK_THAT(msdbg({"show", record, "--tensor", "conv1/weight"}).out,
             Catch::Contains("iteration 10 ") && Catch::Contains("from the checkpoint of this iteration"));
}

TEST_CASE("A program started by hand is told by the environment to keep checkpoints and batches", "[cli]") {
  const TempDir folder;
  const RunOptions options = {
      .environment = {{"MSDBG_DUMP", "run.msdbg"},
                      {"MSDBG_DUMP_OPTIONS", R"({"checkpoint_every": 3, "batches": true})"}},
      .folder = folder.path()};
  REQUIRE(runMsdbg({"train-model", "lenet5", "--batch", "8", "--steps", "5", "--threads", "1"}, options)
              .exitStatus == 0);
  const Json info = msdbgJson({"info", folder / "run.msdbg"});
  CHECK(info["ranks"][0]["checkpoints"] == Json({0, 3}));
  CHECK(info["recomputable"] == "0-4");
}

TEST_CASE("Nobody else may enter a run that is recorded with --private", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  REQUIRE(msdbg({"dump", "mlp", "--steps", "1", "--private", "-o", run}).exitStatus == 0);
  CHECK(fs::status(run).permissions() == fs::perms::owner_all);
}

TEST_CASE("Full for weights on rank 0", "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg";
  msdbgJson(dumpLenet(run, {"-n", "2", "--no-replay", "--record", "*=full,kind=weight,ranks=0"}));
  CHECK(msdbg({"show", run, "--tensor", "conv1/weight", "--rank", "0", "--iteration", "3"}).exitStatus == 0);
  CHECK(msdbg({"show", run, "--tensor", "conv1/weight", "--rank", "1", "--iteration", "3"}).exitStatus == 4);
  CHECK(stored(run, "conv1/weight") == 12);
}

TEST_CASE("A config file says what is recorded; flags win over it, and --record goes before its rules",
          "[cli]") {
  const TempDir folder;
  const std::string file = writeConfig(folder, R"({
    "rules": [{"tensors": "*conv1/weight", "policy": "full", "every": 2}, "*conv2/weight=full"],
    "every": 3, "max_bytes": "1GB" // comment
  })");
  const Json plan = msdbgJson(with(dumpLenet("new.msdbg", {"--config", file}), "--dry-run"));
  CHECK(plan["rules"] == Json({"*conv1/weight=full,every=2", "*conv2/weight=full", "*=stats"}));
  CHECK(plan["max_bytes"] == 1'000'000'000);
  CHECK(plan["expected"]["iterations"] == 4);
  const Json changed = msdbgJson(
      dumpLenet("new.msdbg", {"--config", file, "--every", "1", "--max-size", "5MB", "--policy", "none",
                              "--record", "*conv2*=none", "--record", "*=full,kind=loss", "--dry-run"}));
  CHECK(changed["rules"] == Json({"*conv2*=none", "*=full,kind=loss", "*conv1/weight=full,every=2",
                                  "*conv2/weight=full", "*=none"}));
  CHECK(changed["max_bytes"] == 5'000'000);
  CHECK(changed["expected"]["iterations"] == 12);
}

TEST_CASE("MSDBG_DUMP_CONFIG names the config file, for dump and for a program started by hand", "[cli]") {
  const TempDir folder;
  const std::string file =
      writeConfig(folder, R"({"rules": [{"kind": "weight", "policy": "full"}], "every": 2})");
  const RunOptions options = {.environment = {{"MSDBG_DUMP_CONFIG", file}}, .folder = folder.path()};
  const RunResult dumped = runMsdbg(dumpLenet("dumped.msdbg", {}), options);
  INFO(dumped.err);
  CHECK(dumped.exitStatus == 0);
  RunOptions byHand = options;
  byHand.environment.insert(byHand.environment.end(), {{"MSDBG_DUMP", folder / "hand.msdbg"},
                                                       {"MSDBG_DUMP_OPTIONS", R"({"max_bytes": 7000000})"}});
  const RunResult trained = runCommand({buildDir() / "tests" / "session_probe", "ok"}, byHand);
  INFO(trained.err);
  CHECK(trained.exitStatus == 0);
  for (const char* name : {"dumped.msdbg", "hand.msdbg"}) {
    const Json policy = msdbgJson({"info", folder / name})["policy"];
    CHECK(policy["rules"] == Json::parse(R"([{"policy": "full", "kind": ["weight"]}])"));
    CHECK(policy["every"] == 2);
  }
  CHECK(msdbgJson({"info", folder / "hand.msdbg"})["policy"]["max_bytes"] == 7'000'000);
  CHECK(stored(folder / "dumped.msdbg", "conv1/weight") == 6);
  std::ofstream(file) << "{\n\"evry\": 2}";
  const RunResult wrong =
      runCommand({buildDir() / "tests" / "session_probe", "ok"},
                 {.environment = {{"MSDBG_DUMP_CONFIG", file}, {"MSDBG_DUMP", folder / "wrong.msdbg"}}});
  CHECK(wrong.exitStatus != 0);
  CHECK_THAT(wrong.err, Catch::Contains("MSDBG_DUMP_CONFIG: " + file +
                                        ": line 2: evry: there is no such key; did "
                                        "you mean every?"));
  CHECK_FALSE(fs::exists(folder / "wrong.msdbg"));
}

TEST_CASE(
    "The rules of a program, whose graph is not known beforehand, reach it; one that fits nothing is told",
    "[cli]") {
  const TempDir folder;
  const std::string run = folder / "run.msdbg", probe = buildDir() / "tests" / "session_probe";
  const Words words = {"dump", "-o", run, "--record", "*=full,kind=loss", "--record", "fc9*=none"};
  Words dry = words, real = words;
  dry.insert(dry.end(), {"--dry-run", "--", probe, "ok"});
  real.insert(real.end(), {"--", probe, "ok"});
  CHECK_THAT(msdbg(dry).out, Catch::Contains("*=full,kind=loss\n") && Catch::Contains("*=stats\n"));
  const RunResult result = msdbg(real);
  CHECK(result.exitStatus == 0);
  CHECK_THAT(result.err, Catch::Contains("rule fc9*=none: no tensor of the model is named 'fc9*'"));
  CHECK_THAT(result.err, !Catch::Contains("kind=loss"));
  const Json raw = msdbgJson({"info", run})["storage"];
  CHECK(raw["raw_bytes"] == 6 * 4);  // the loss of six iterations
}

TEST_CASE("A tensor to be recorded may be named by a unique end of its name", "[cli]") {
  const TempDir folder;
  const auto said = [&](const char* flag, const char* text) {
    return msdbg(dumpLenet(folder / "run.msdbg", {flag, text}));
  };
  const RunResult several = said("--tensors", "weight");
  CHECK(several.exitStatus == 2);
  CHECK_THAT(several.err, Catch::Contains("--tensors weight: 'weight' may mean") &&
                              Catch::Contains("conv1/weight") && Catch::Contains("give more of the name"));
  CHECK(said("--record", "weight=full").exitStatus == 2);
  CHECK(said("--tensors", "conv1/weigth").exitStatus != 0);
  REQUIRE(said("--tensors", "conv1/weight,grad(conv1/weight)").exitStatus == 0);
  CHECK(stored(folder / "run.msdbg", "network/conv1/weight") == 12);
  CHECK(stored(folder / "run.msdbg", "grad(network/conv1/weight)") == 12);
  CHECK(stored(folder / "run.msdbg", "network/conv2/weight") == 0);
}

TEST_CASE("What a config asks for and no tensor of the model is, --dry-run and the run warn of", "[cli]") {
  const TempDir folder;
  const std::string file =
      writeConfig(folder, R"({"rules": ["nothing*=full", "*conv1*,conv9=stats"], "tensors": ["*fcc1*"]})");
  const Words words = dumpLenet(folder / "run.msdbg", {"--config", file});
  const RunResult dry = msdbg(with(words, "--dry-run")), real = msdbg(words);
  CHECK(dry.exitStatus == 0);
  CHECK(real.exitStatus == 0);
  for (const std::string& err : {dry.err, real.err})
    for (const std::string rule : {"nothing*=full: no tensor of the model is named 'nothing*'; globs",
                                   "*conv1*,conv9=stats: no tensor of the model is named 'conv9'",
                                   "*fcc1*=full: no tensor of the model is named '*fcc1*'"}) {
      const std::size_t told = err.find("the recording rule " + rule);
      CHECK(told != std::string::npos);
      CHECK(err.find(rule, told + rule.size()) == std::string::npos);  // once
    }
}

TEST_CASE("A rule that will decide nothing in the run is warned of, in JSON too", "[cli]") {
  const RunResult result = msdbg(dumpLenet("new.msdbg", {"--record", "*=full,ranks=7", "--record", "*=stats",
                                                         "--record", "grad(*)=full", "--dry-run", "--json"}));
  CHECK(result.exitStatus == 0);
  CHECK_THAT(result.err,
             Catch::Contains("*=full,ranks=7 decides nothing in this run: there is rank 0 only") &&
                 Catch::Contains("grad(*)=full decides nothing in this run: *=stats stands before"));
  CHECK_FALSE(Json::parse(result.out, nullptr, false).is_discarded());
  CHECK_THAT(msdbg({"dump", "--iterations", "7", "--every", "2", "--dry-run", "--", "true"}).err,
             Catch::Contains("nothing will be recorded: of iterations 0- none"));
}

TEST_CASE("An operator that the model has not is refused with the nearest one", "[cli]") {
  const RunResult wrong = msdbg(dumpLenet("new.msdbg", {"--record", "*=full,op=relu", "--dry-run"}));
  CHECK(wrong.exitStatus == 2);
  CHECK_THAT(wrong.err, Catch::Contains("no operator of the model is of the type 'relu'; did you mean Relu"));
  CHECK(msdbg(dumpLenet("new.msdbg", {"--record", "*=full,op=*Grad", "--dry-run"})).exitStatus == 0);
}

TEST_CASE("Values of options that mean nothing are refused", "[cli]") {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--max-size", ""}, "--max-size: a value is missing"},
      {{"--tensors", ""}, "--tensors: a value is missing"},
      {{"--tensors", ","}, "--tensors: a value is missing"},
      {{"--resume", ""}, "--resume: a value is missing"},
      {{"--keep-last", ""}, "--keep-last: a value is missing"},
      {{"--keep-last", "99999999999999999999"},
       "--keep-last: '99999999999999999999' is not a number that fits"},
      {{"--every", "9223372036854775808"}, "--every: '9223372036854775808' is not a number that fits"},
      {{"--tensors", "*fc1*", "--policy", "stats"}, "policy stats keeps none"},
      {{"--statistics", "flags", "--policy", "full"}, "leave it or --policy full out"},
      {{"--statistics", "some"}, "--statistics"},
      {{"--record", "*=full,every=2,every=3"}, "the key every is given twice"}};
  for (const auto& [words, message] : cases) {
    CAPTURE(words);
    const RunResult result = msdbg(with(dumpLenet("new.msdbg", words), "--dry-run"));
    CHECK(result.exitStatus == 2);
    CHECK_THAT(result.err, Catch::Contains(message));
  }
}

TEST_CASE("--dry-run names the tensors of a rule: some for people, all in JSON", "[cli]") {
  const Words words = dumpLenet("new.msdbg", {"--record", "grad(*)=full", "--dry-run"});
  const Json rule = msdbgJson(words)["expected"]["rules"][0];
  CHECK(rule["names"].size() == rule["tensors"]);
  CHECK(rule["names"][0].get<std::string>().starts_with("grad(network/"));
  const std::string more = "... " + std::to_string(rule["names"].size() - 3) + " more\n";
  CHECK_THAT(msdbg(words).out, Catch::Contains(rule["names"][0].get<std::string>()) && Catch::Contains(more));
}

TEST_CASE("--dry-run tells the bytes that --keep-last leaves, unless --max-size leaves fewer", "[cli]") {
  const Words words = dumpLenet("new.msdbg", {"--keep-last", "3", "--dry-run"});
  CHECK_THAT(msdbg(words).out, Catch::Contains("(--keep-last 3, the newest are kept)"));
  const Json expected = msdbgJson(words)["expected"];
  const auto bytes = [&](const char* name) { return expected[name].get<std::int64_t>(); };
  CHECK(bytes("bytes") == bytes("statistics_bytes") + bytes("state_bytes") + bytes("batch_bytes") +
                              bytes("value_bytes") / 12 * 3);
  CHECK_THAT(msdbg(with(with(words, "--max-size"), "1kB")).out, Catch::Contains("cut to 1.0 kB (--max-size"));
  CHECK_THAT(msdbg(dumpLenet("new.msdbg", {"--keep-last", "12", "--dry-run"})).out,
             !Catch::Contains("--keep-last"));
}

TEST_CASE("dump reads MSDBG_DUMP_OPTIONS as a program does; a config that is given wins, and flags do",
          "[cli]") {
  const TempDir folder;
  const std::string file = writeConfig(folder, R"({"every": 3})");
  const auto planned = [&](const Words& extra) {
    Words words = with(dumpLenet("new.msdbg", extra), "--dry-run");
    const RunResult result =
        runMsdbg(with(words, "--json"),
                 {.environment = {{"MSDBG_DUMP_CONFIG", "no.json"},
                                  {"MSDBG_DUMP_OPTIONS", R"({"every": 4, "max_bytes": 7000000})"}},
                  .folder = folder.path()});
    INFO(result.err);
    return result.exitStatus == 0 ? Json::parse(result.out) : Json();
  };
  CHECK(planned({}).is_null());  // there is no no.json
  const Json plan = planned({"--config", file});
  CHECK(plan["max_bytes"] == 7'000'000);
  CHECK(plan["expected"]["iterations"] == 4);
  CHECK(planned({"--config", file, "--max-size", "8MB"})["max_bytes"] == 8'000'000);
}

TEST_CASE("A variable that is not one of msdbg's is warned of once, with the nearest one", "[cli]") {
  const TempDir folder;
  const std::string probe = buildDir() / "tests" / "session_probe";
  const RunOptions options = {.environment = {{"MSDBG_DUMP_MAX_SIZE", "30MB"}, {"MSDBG_DUMP_CNFIG", "x"}},
                              .folder = folder.path()};
  RunOptions byHand = options;
  byHand.environment.emplace_back("MSDBG_DUMP", folder / "hand.msdbg");
  for (const RunResult& result : {runMsdbg({"dump", "-o", "run.msdbg", "--", probe, "ok"}, options),
                                  runCommand({probe, "ok"}, byHand)}) {
    CHECK(result.exitStatus == 0);
    const std::size_t told =
        result.err.find("MSDBG_DUMP_CNFIG means nothing; did you mean MSDBG_DUMP_CONFIG?");
    CHECK(told != std::string::npos);
    CHECK(result.err.find("MSDBG_DUMP_CNFIG", told + 1) == std::string::npos);
    CHECK_THAT(result.err, Catch::Contains("MSDBG_DUMP_MAX_SIZE means nothing"));
  }
}

}  // namespace msdbg::test
