// Runs of every format version are read for ever; a newer minor version is read without what is unknown in
// it, a newer major one is refused by name wherever it stands.
#include <hdf5.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "dump/commit_file.h"
#include "dump/journal.h"
#include "dump/reader/run_reader.h"
#include "tests/dump/patched_run.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using nlohmann::ordered_json;
using test::TempDir;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// What is asked of each committed run; all answers are JSON.
const std::map<std::string, std::vector<Words>> kQuestions = {
    {"run_1.0",
     {
         {"info", "--tensors", "network/fc[13]*"},
         {"verify"},
         {"check", "-w", "nonfinite_propagation", "--all"},
         {"check", "-w", "nonfinite_propagation", "-w", "tensor_overflow", "--first"},
         {"search", "mlp.cpp:19"},
         {"show", "--tensor", "network/fc3/bias", "--iteration", "4", "--rank", "1"},
         {"show", "--tensor", "network/fc1/Relu-op1", "--iteration", "4", "--slice", "0,:40"},
         {"show", "--tensor", "network/label", "--iteration", "4", "--rank", "1"},
         {"show", "--tensor", "network/fc3/bias", "--iteration", "0"},
         {"stats", "--tensor", "network/fc3/*"},
     }},
    {"run_1.1",
     {
         {"info", "--tensors", "network/conv2/*"},
         {"verify"},
         {"check", "-w", "nonfinite_propagation", "--all"},
         {"check", "-w", "weight_change_too_large:abs_mean_update_ratio_gt=1", "--first"},
         {"search", "lenet5.cpp:20"},
         {"show", "--tensor", "network/fc1/weight", "--iteration", "0", "--slice", "0,:40"},
         {"show", "--tensor", "network/conv2/Relu-op1", "--iteration", "1", "--slice", "0,3"},
         {"show", "--tensor", "network/conv2/MaxPool-op1", "--iteration", "1", "--slice", "1,:,0"},
         {"stats", "--tensor", "network/fc*/Relu*"},
         {"stats", "--tensor", "next(network/fc2/*)"},
     }},
    {"run_1.1_hits",
     {
         {"info", "--tensors", "network/conv2/*"},
         {"verify"},
         {"check", "-w", "nonfinite_propagation", "--all"},
         {"check", "-w", "nonfinite_propagation", "-w", "tensor_overflow", "--first"},
         {"search", "lenet5.cpp:30"},
         {"show", "--tensor", "network/label", "--iteration", "3", "--rank", "1"},
         {"show", "--tensor", "network/label", "--iteration", "0"},
         {"show", "--tensor", "network/conv2/Relu-op1", "--iteration", "1", "--rank", "1", "--slice", "1,15"},
         {"stats", "--tensor", "network/fc2/*"},
     }},
    {"run_1.2",
     {
         {"info"},
         {"verify"},
         {"check", "-w", "tensor_overflow", "-w", "loss_not_decreasing", "--all"},
         {"show", "--tensor", "network/fc1/bias", "--iteration", "12"},
         {"show", "--tensor", "network/label", "--iteration", "12"},
         {"stats", "--tensor", "network/fc1/bias"},
     }},
    {"run_cuda",
     {
         {"info"},
         {"verify"},
         {"check", "--all"},
         {"search", "lenet5.cpp:20"},
         {"show", "--tensor", "network/conv2/Relu-op1", "--iteration", "2", "--slice", "1,15"},
         {"stats", "--tensor", "network/conv1/*"},
     }},
};

fs::path dataFolder() { return test::sourceDir() / "tests/data"; }

std::string textOf(const fs::path& file) { return dump::readFile(file, 64u << 20).value(); }

ordered_json ask(const fs::path& folder, const std::string& run, const Words& question) {
  Words words = {question[0], run};
  words.insert(words.end(), question.begin() + 1, question.end());
  words.push_back("--json");
  const test::RunResult result = test::runMsdbg(words, {.folder = folder});
  const ordered_json output = result.out.empty() ? ordered_json() : ordered_json::parse(result.out);
  return {
      {"question", question}, {"exit_status", result.exitStatus}, {"error", result.err}, {"output", output}};
}

// The first place where `now` lacks something of `then` or has it differently; "" when there is none.
std::string firstChange(const ordered_json& then, const ordered_json& now, const std::string& place = "") {
  if (then.type() != now.type() && !(then.is_number() && now.is_number())) return place;
  if (then.is_object()) {
    for (const auto& [key, value] : then.items()) {
      if (!now.contains(key)) return place + "/" + key;
      if (std::string change = firstChange(value, now.at(key), place + "/" + key); !change.empty())
        return change;
    }
    return "";
  }
  if (!then.is_array()) return then == now ? "" : place;
  if (then.size() != now.size()) return place;
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (std::string change = firstChange(then[i], now[i], place + "/" + std::to_string(i)); !change.empty())
      return change;
  }
  return "";
}

// The text of an error may get better; that there is one may not change, which the exit status says. Where no
// condition is named there may be more of them than there were.
std::string changedAnswer(ordered_json then, const ordered_json& now) {
  then.erase("error");
  const auto question = then.at("question").get<Words>();
  if (question[0] == "check" && std::ranges::find(question, "-w") == question.end())
    then["output"].erase("evaluated"), then["output"].erase("watchpoints");
  return firstChange(then, now);
}

void checkAnswers(const fs::path& folder, const std::string& run, const fs::path& answers) {
  for (const ordered_json& then : ordered_json::parse(textOf(answers))) {
    const ordered_json now = ask(folder, run, then.at("question").get<Words>());
    CAPTURE(then.at("question").dump(), now.at("error").get<std::string>());
    CHECK(changedAnswer(then, now) == "");
  }
}

void writeAnswers(const fs::path& folder, const std::string& run, const fs::path& file) {
  ordered_json answers = ordered_json::array();
  for (const Words& question : kQuestions.at(fs::path(run).stem()))
    answers.push_back(ask(folder, run, question));
  std::ofstream(file) << answers.dump() << "\n";
}

// A copy of a committed run.
fs::path copyOfRun(const TempDir& folder, const std::string& run = "run_1.0.msdbg") {
  fs::copy(dataFolder() / run, folder / run, fs::copy_options::recursive);
  return folder / run;
}

// A newer minor version: further keys wherever there are keys.
void addToRunInfo(const fs::path& run, int major, int minor) {
  test::patchRunInfo(run, [&](ordered_json& json) {
    json["format"] = {major, minor};
    json["weather"] = {{"today", {"sunny", 21.5}}};
    json["policy"]["policy"] = "dreams";
    json["policy"]["mood"] = "good";
    json["end"]["applause"] = true;
  });
}

// Also lines of unknown kinds.
void addToJournal(const fs::path& rank, int major, int minor) {
  test::patchJournal(rank, [&](ordered_json& line) {
    line["colour"] = {"blue", nullptr};
    if (line.contains("version")) line["version"] = {major, minor};
  });
  std::ofstream(rank / "journal", std::ios::app) << dump::withCheck(R"({"moon":{"phase":3}})") << "\n";
}

void writeNumbers(hid_t object, const char* name, const std::vector<std::int64_t>& values) {
  const hsize_t count = values.size();
  H5Adelete(object, name);
  const hid_t space = H5Screate_simple(1, &count, nullptr);
  const hid_t attribute = H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(attribute, H5T_NATIVE_INT64, values.data()) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
}

void addDataset(hid_t file, const char* path, const std::vector<hsize_t>& dims) {
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, path, H5T_IEEE_F64LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(links);
}

// Further groups, columns and attributes; then the journal gets the new hash and size.
void patchSegment(const fs::path& file, int major, int minor) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  const hid_t segment = H5Fopen(file.c_str(), H5F_ACC_RDWR, access);
  REQUIRE(segment >= 0);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  writeNumbers(segment, "version", {major, minor});
  writeNumbers(segment, "moon", {1, 2, 3});
  addDataset(segment, "/histogram/network/fc1/Relu-op1:0", {2, 64});
  addDataset(segment, "/statistics/skewness", {7, 3});
  addDataset(segment, "/tensor/of the next version", {5});
  H5Fclose(segment);
  H5Pclose(access);
}

void patchSegments(const fs::path& rank, int major, int minor) {
  for (const auto& entry : fs::directory_iterator(rank))
    if (entry.path().extension() == ".h5") patchSegment(entry.path(), major, minor);
  test::relistSegments(rank);
}

// How a dataset of one chunk lies in the file.
struct StoredChunk {
  int filters = 0;
  unsigned passedOver = 0;  // the filter mask
  haddr_t address = 0;
};

StoredChunk storedChunk(hid_t segment, const char* path) {
  const hid_t dataset = H5Dopen2(segment, path, H5P_DEFAULT);
  CAPTURE(path);
  REQUIRE(dataset >= 0);
  const hid_t properties = H5Dget_create_plist(dataset), space = H5Dget_space(dataset);
  StoredChunk chunk{.filters = H5Pget_nfilters(properties)};
  hsize_t offset[8] = {}, size = 0;
  CHECK(H5Dget_chunk_info(dataset, space, 0, offset, &chunk.passedOver, &chunk.address, &size) >= 0);
  H5Sclose(space);
  H5Pclose(properties);
  H5Dclose(dataset);
  return chunk;
}

std::unique_ptr<dump::RunReader> readerOf(const fs::path& run) {
  auto reader = dump::RunReader::open(run);
  if (!reader.ok()) FAIL(reader.error().message());
  return std::move(*reader);
}

core::TensorId tensorNamed(const dump::RunReader& reader, const std::string& name) {
  const auto tensor = reader.graph().findTensor(name);
  if (!tensor) FAIL("no tensor " << name);
  return *tensor;
}

// The evidence for what was kept in another way, or not at all.
core::Hash128 recordedHash(dump::RunReader& reader, std::int64_t iteration, const std::string& tensor) {
  const auto hash = reader.hash(core::Rank(0), core::Iteration(iteration), tensorNamed(reader, tensor));
  if (!hash.ok()) FAIL(hash.error().message());
  return *hash;
}

const core::InputSource& sourceOf(const core::Batch& batch, const std::string& input) {
  const auto found = std::find_if(batch.sources.begin(), batch.sources.end(),
                                  [&](const auto& source) { return source.first == input; });
  REQUIRE(found != batch.sources.end());
  return found->second;
}

}  // namespace

TEST_CASE("Committed runs of every format version give the answers that they gave then") {
  std::set<std::pair<int, int>> versions;
  for (const auto& entry : fs::directory_iterator(dataFolder())) {
    if (entry.path().extension() != ".msdbg") continue;
    const TempDir folder;
    const std::string run = entry.path().filename();
    const dump::RunInfo info = dump::readRunInfo(copyOfRun(folder, run)).value();
    const fs::path answers = fs::path(entry.path()).replace_extension("json");
    if (!fs::exists(answers) && std::getenv("MSDBG_UPDATE_GOLDEN")) writeAnswers(folder.path(), run, answers);
    CAPTURE(run);
    checkAnswers(folder.path(), run, answers);
    versions.emplace(info.formatMajor, info.formatMinor);
  }
  INFO("who raises the version adds a run: tests/data/README.md");
  for (int minor = 0; minor <= dump::kFormatMinor; ++minor) {
    CAPTURE(dump::kFormatMajor, minor);
    CHECK(versions.contains({dump::kFormatMajor, minor}));
  }
}

TEST_CASE("The committed run of format 1.1 has a checkpoint, the bytes it was fed with, and hashes alone") {
  const TempDir folder;
  const auto reader = readerOf(copyOfRun(folder, "run_1.1.msdbg"));
  const core::Rank rank(0);
  const core::Iteration first(0);
  CHECK(reader->info().id.size() == 32);
  CHECK(reader->info().modelOptions.size() == 3);  // data, batch, lr
  CHECK(reader->timing(rank));
  CHECK(reader->checkpoints(rank) == std::vector<std::int64_t>{0});
  CHECK(reader->batches(rank) == std::vector<std::int64_t>{0, 1});
  CHECK(reader->recomputable() == std::vector<std::int64_t>{0, 1});
  const auto state = reader->checkpoint(rank, first);
  REQUIRE(state.ok());
  CHECK(state->tensors.size() == 21);  // 10 parameters, their momenta, the seed of the gradients
  for (const auto& [name, value] : state->tensors) {
    CAPTURE(name);
    CHECK(core::hashTensor(value) == recordedHash(*reader, 0, name));
  }
  const auto batch = reader->batch(rank, first);
  REQUIRE(batch.ok());
  CHECK(sourceOf(*batch, "network/x").values.dtype() == core::DType::UInt8);
  CHECK(sourceOf(*batch, "network/x").divisor == 255);
  REQUIRE(batch->find("network/x"));
  CHECK(core::hashTensor(*batch->find("network/x")) == recordedHash(*reader, 0, "network/x:0"));
  const core::TensorId hashOnly = tensorNamed(*reader, "network/fc3/weight:0");
  CHECK_FALSE(reader->stored(rank, first, hashOnly));
  CHECK(reader->statistics(rank, first, hashOnly).error().code() == core::ErrorCode::kUnavailable);
}

TEST_CASE("The committed run of format 1.1 is computed again as it was recorded, days before") {
  const auto result = test::runMsdbg(
      {"replay", (test::sourceDir() / "tests/data/run_1.1.msdbg").string(), "--prove", "--json"});
  const ordered_json proof = ordered_json::parse(result.out);
  INFO(result.out);
  if (proof.at("otherwise_here").empty()) {
    CHECK(proof.at("tensors").get<int>() == 150);
    CHECK(result.exitStatus == 0);
  } else {  // what follows an iteration with other bits is not computed
    CHECK(proof.at("tensors").get<int>() == (proof.at("iterations") == "0-1" ? 150 : 75));
    WARN("not held against its hashes: " << proof.at("otherwise_here").dump());
  }
}

TEST_CASE("The committed run of format 1.2 has thinned statistics, and digests of all iterations") {
  const TempDir folder;
  const auto reader = readerOf(copyOfRun(folder, "run_1.2.msdbg"));
  const core::Rank rank(0);
  const auto thinning = reader->thinning(rank);
  REQUIRE_FALSE(thinning.parts.empty());
  CHECK(thinning.parts.front().step == 10);
  const core::TensorId label = tensorNamed(*reader, "network/label:0");
  std::int64_t thinned = 0;
  for (const dump::IterationState& state : reader->iterations(rank)) {
    const core::Iteration iteration(state.iteration);
    CHECK(reader->digest(rank, iteration).value() != core::Hash128());
    CHECK(reader->hash(rank, iteration, label).ok());
    CHECK(reader->statistics(rank, iteration, label).ok() != reader->thinned(rank, iteration));
    thinned += reader->thinned(rank, iteration);
  }
  CHECK(thinned > 100);
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE(
    "The committed run of format 1.1 has values as they are, compressed, and shared with a checkpoint") {
  const TempDir folder;
  const fs::path file = copyOfRun(folder, "run_1.1.msdbg") / "rank_0/segment_000000.h5";
  const hid_t segment = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(segment >= 0);
  CHECK(storedChunk(segment, "/tensor/network/conv2/MaxPool-op1:0").filters == 0);
  const StoredChunk compressed = storedChunk(segment, "/tensor/network/conv2/Relu-op1:0");
  CHECK(compressed.filters == 2);
  CHECK(compressed.passedOver == 1);  // the shuffle, since 1.1
  CHECK(storedChunk(segment, "/tensor/network/fc1/weight:0").address ==
        storedChunk(segment, "/state/network/fc1/weight:0").address);
  H5Fclose(segment);
}

TEST_CASE("The committed run of format 1.1 with hits kept values near one, and stopped on it") {
  const TempDir folder;
  const auto reader = readerOf(copyOfRun(folder, "run_1.1_hits.msdbg"));
  const std::vector<dump::RecordedHit> hits = reader->hits();
  REQUIRE(hits.size() == 1);
  CHECK(hits[0].rank == core::Rank(1));
  CHECK(hits[0].line.iteration == 3);
  CHECK(hits[0].line.condition == "nonfinite_propagation");
  CHECK(hits[0].line.tensor == "network/fc2/Gemm-op1:0");
  CHECK(reader->info().end.onHit());
  CHECK(reader->info().end.tensor == hits[0].line.tensor);
  const core::TensorId relu = tensorNamed(*reader, "network/conv2/Relu-op1:0");
  for (const core::Rank rank : {core::Rank(0), core::Rank(1)}) {
    CHECK(reader->timing(rank));
    CHECK(reader->batches(rank) == std::vector<std::int64_t>{1, 2, 3});
    CHECK_FALSE(reader->stored(rank, core::Iteration(0), relu));
    CHECK(reader->stored(rank, core::Iteration(1), relu));
  }
}

TEST_CASE("A run of a newer minor version gives the same answers, without what is unknown in it") {
  const TempDir folder;
  const fs::path run = copyOfRun(folder);
  addToRunInfo(run, 1, 99);
  for (const char* rank : {"rank_0", "rank_1"}) {
    patchSegments(run / rank, 1, 99);
    addToJournal(run / rank, 1, 99);
  }
  for (const ordered_json& then : ordered_json::parse(textOf(dataFolder() / "run_1.0.json"))) {
    const auto question = then.at("question").get<Words>();
    const ordered_json now = ask(folder.path(), "run_1.0.msdbg", question);
    CAPTURE(question, now.at("error").get<std::string>());
    CHECK(now.at("exit_status") == then.at("exit_status"));
    if (question[0] != "info" && question[0] != "verify") CHECK(changedAnswer(then, now) == "");
    if (question[0] == "verify") CHECK(now.at("output").at("damage").empty());
    if (question[0] == "info") CHECK(now.at("output").at("format") == "1.99");
  }
}

TEST_CASE("A newer major version is refused by name in run.json, journal, segment and graph") {
  const auto refusal = [](const std::function<void(const fs::path&)>& patch, const Words& question) {
    const TempDir folder;
    patch(copyOfRun(folder));
    const ordered_json answer = ask(folder.path(), "run_1.0.msdbg", question);
    CHECK(answer.at("exit_status") == 1);
    return answer.at("error").get<std::string>() + answer.at("output").dump();
  };
  CHECK_THAT(refusal([](const fs::path& run) { addToRunInfo(run, 2, 0); }, {"info"}),
             Catch::Contains("run.json: run format 2.0 is newer") && Catch::Contains("use a newer msdbg"));
  const auto journal = [](const fs::path& run) { addToJournal(run / "rank_1", 2, 0); };
  CHECK_THAT(refusal(journal, {"info"}), Catch::Contains("rank_1/journal: format 2 is newer"));
  CHECK_THAT(refusal([](const fs::path& run) { patchSegments(run / "rank_1", 2, 0); }, {"verify"}),
             Catch::Contains("rank_1/segment_000003.h5") && Catch::Contains("format 2 is newer"));
  const auto graph = [](const fs::path& run) {  // field 1, format: 1 -> 4
    std::string bytes = textOf(run / "graph_0000.pb");
    REQUIRE(bytes.substr(0, 2) == "\x08\x01");
    bytes[1] = 4;
    std::ofstream(run / "graph_0000.pb", std::ios::binary) << bytes;
  };
  CHECK_THAT(refusal(graph, {"info"}), Catch::Contains("graph_0000.pb: graph format 4 is newer"));
}
