// Runs of every format version are read for ever; a newer minor version is read without what is unknown in
// it, a newer major one is refused by name wherever it stands.
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dump/journal.h"
#include "dump/writer/commit_file.h"
#include "tests/dump/patched_run.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using nlohmann::ordered_json;
using test::TempDir;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// What is asked of every committed run; all answers are JSON.
const Words kQuestions[] = {
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

// The text of an error may get better; that there is one may not change, which the exit status says.
std::string changedAnswer(ordered_json then, const ordered_json& now) {
  then.erase("error");
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
  for (const Words& question : kQuestions) answers.push_back(ask(folder, run, question));
  std::ofstream(file) << answers.dump() << "\n";
}

// A copy of the committed run of format 1.0.
fs::path copyOfRun(const TempDir& folder) {
  fs::copy(dataFolder() / "run_1.0.msdbg", folder / "run_1.0.msdbg", fs::copy_options::recursive);
  return folder / "run_1.0.msdbg";
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

}  // namespace

TEST_CASE("Committed runs of every format version give the answers that they gave then") {
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(dataFolder())) {
    if (entry.path().extension() != ".msdbg") continue;
    const TempDir folder;
    const std::string run = entry.path().filename();
    fs::copy(entry.path(), folder / run, fs::copy_options::recursive);
    const fs::path answers = fs::path(entry.path()).replace_extension("json");
    if (!fs::exists(answers) && std::getenv("MSDBG_UPDATE_GOLDEN")) writeAnswers(folder.path(), run, answers);
    CAPTURE(run);
    checkAnswers(folder.path(), run, answers);
    ++runs;
  }
  CHECK(runs >= 1);
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
  const auto graph = [](const fs::path& run) {  // field 1, format: 1 -> 2
    std::string bytes = textOf(run / "graph_0000.pb");
    REQUIRE(bytes.substr(0, 2) == "\x08\x01");
    bytes[1] = 2;
    std::ofstream(run / "graph_0000.pb", std::ios::binary) << bytes;
  };
  CHECK_THAT(refusal(graph, {"info"}), Catch::Contains("graph_0000.pb: graph format 2 is newer"));
}
