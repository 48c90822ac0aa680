#include "tests/cli/recorded_run.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace msdbg::test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

const TempDir& folder() {
  static const TempDir dir;
  return dir;
}

fs::path record(const std::string& name, std::vector<std::string> extra) {
  std::vector<std::string> words = {"dump",    "mlp", "-n",      "2",  "--threads", "1",
                                    "--steps", "3",   "--batch", "16", "-o",        name};
  words.insert(words.end(), extra.begin(), extra.end());
  const RunResult result = runMsdbg(words, {.folder = folder().path()});
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == 0);
  return folder() / name;
}

std::string typeOf(const Json& json) {
  if (json.is_number_integer() || json.is_number_float()) return "number";
  return json.type_name();
}

void collect(const Json& json, const std::string& path, std::vector<std::string>& order,
             std::map<std::string, std::string>& types) {
  if (!path.empty()) {
    std::string& type = types[path];
    if (type.empty()) order.push_back(path);
    // null is the absence of the other type
    if (type.empty() || type == "null") type = typeOf(json);
  }
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      collect(value, path.empty() ? key : path + "." + key, order, types);
  if (json.is_array())
    for (const Json& value : json) collect(value, path + "[]", order, types);
}

std::string contentOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

const fs::path& cleanRun() {
  static const fs::path run = record("clean.msdbg", {"--no-replay"});
  return run;
}

const fs::path& faultyRun() {
  static const fs::path run =
      record("faulty.msdbg", {"--no-replay", "--fault", "nan@iteration=1,rank=1,node=*fc2/Gemm-op1"});
  return run;
}

const fs::path& steepRun() {
  static const fs::path run = record("steep.msdbg", {"--no-replay", "--fault", "lr@iteration=2,scale=1e5"});
  return run;
}

const fs::path& replayableRun() {
  static const fs::path run = record("replayable.msdbg", {"--policy", "record"});
  return run;
}

const fs::path& plantedRun() {
  static const fs::path run =
      record("planted.msdbg", {"--policy", "full", "--checkpoint-every", "1", "--batches", "--fault",
                               "nan@iteration=1,rank=1,node=*fc2/Gemm*"});
  return run;
}

RunResult msdbg(const std::vector<std::string>& arguments) {
  return runMsdbg(arguments, {.folder = folder().path()});
}

Json msdbgJson(std::vector<std::string> arguments, int exitStatus) {
  arguments.push_back("--json");
  const RunResult result = msdbg(arguments);
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == exitStatus);
  const Json json = Json::parse(result.out, nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  return json;
}

fs::path copyOf(const fs::path& run, const TempDir& to, const std::string& name) {
  fs::copy(run, to / name, fs::copy_options::recursive);
  return to / name;
}

std::string keysOf(const Json& json) {
  std::vector<std::string> order;
  std::map<std::string, std::string> types;
  collect(json, "", order, types);
  std::string text;
  for (const std::string& path : order) text += path + ": " + types[path] + "\n";
  return text;
}

std::string shapeOf(const std::string& text) {
  std::string out = std::regex_replace(text, std::regex("(^|[ \n])/[^ \n]*/"), "$1");  // absolute paths
  out = std::regex_replace(out, std::regex("where    [^\n]* rank"), "where HOST, # rank");
  out = std::regex_replace(out, std::regex("hash [0-9a-f]{32}"), "hash #");
  out =
      std::regex_replace(out, std::regex("(kernel +[a-z]+:\\w+) [^\n]*"), "$1 #");  // of this instruction set
  out = std::regex_replace(out, std::regex("[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?"), "#");
  out = std::regex_replace(out, std::regex("# (kB|MB|GB|B)\\b"), "# bytes");
  out = std::regex_replace(out, std::regex(" +"), " ");
  return std::regex_replace(out, std::regex(" \n"), "\n");
}

void checkGolden(const std::string& name, const std::string& text) {
  const fs::path file = sourceDir() / "tests" / "golden" / "cli" / name;
  if (getenv("MSDBG_UPDATE_GOLDEN")) std::ofstream(file, std::ios::binary) << text;
  INFO("golden file " << file << "; MSDBG_UPDATE_GOLDEN=1 writes it anew");
  CHECK(contentOf(file) == text);
}

}  // namespace msdbg::test
