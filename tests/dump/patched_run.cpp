#include "tests/dump/patched_run.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "core_engine/graph/graph_io.h"
#include "core_engine/tensor/statistics.h"
#include "dump/codec/file_hash.h"
#include "dump/journal.h"

namespace msdbg::test {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

std::string textOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!(out << text).flush()) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace

void patchJournal(const fs::path& rankFolder, const std::function<void(ordered_json&)>& change) {
  std::istringstream lines(textOf(rankFolder / "journal"));
  std::string patched;
  for (std::string line; std::getline(lines, line);) {
    auto json = ordered_json::parse(dump::withoutCheck(line).value());
    json.erase("after");  // the line before it may be another one now
    change(json);
    if (!json.is_null()) patched += dump::withCheck(json.dump()) + "\n";
  }
  put(rankFolder / "journal", patched);
}

void relistSegments(const fs::path& rankFolder) {
  patchJournal(rankFolder, [&](ordered_json& line) {
    if (!line.contains("segment")) return;
    const fs::path file = rankFolder / line.at("file").get<std::string>();
    if (!fs::exists(file)) return;
    line["bytes"] = fs::file_size(file);
    line["hash"] = dump::hashFile(file, {}).value();
  });
}

fs::path graphFile(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run / "graphs"))
    if (entry.path().extension() == ".pb") files.push_back(entry.path());
  if (files.size() != 1)
    throw std::runtime_error(run.string() + " has " + std::to_string(files.size()) + " graphs");
  return files[0];
}

void replaceGraph(const fs::path& run, const std::string& bytes) {
  fs::remove(graphFile(run));
  const std::string hash = core::hashBytes(std::as_bytes(std::span(bytes))).text(),
                    name = "graphs/" + hash + ".pb";
  put(run / name, bytes);
  for (const auto& entry : fs::directory_iterator(run))
    if (fs::exists(entry.path() / "journal"))
      patchJournal(entry.path(), [&](ordered_json& line) {
        if (!line.contains("graph") || !line.contains("sources")) return;
        line["file"] = name;
        line["bytes"] = bytes.size();
        line["hash"] = hash;
      });
}

void makeDTypeUnknown(const fs::path& run, const std::string& tensor, std::int32_t number) {
  const fs::path file = graphFile(run);
  const std::string bytes = textOf(file);
  core::Graph graph = core::parseGraph(std::as_bytes(std::span(bytes)), file.string()).orThrow();
  core::TensorInfo& info = graph.tensor(graph.findTensor(tensor).value());
  info.dtype = core::DType::Unsupported;
  info.dtypeNumber = number;
  replaceGraph(run, core::serializeGraph(graph));
}

void removeCopies(const fs::path& run) {
  for (const auto& entry : fs::directory_iterator(run))
    if (entry.is_directory()) fs::remove(entry.path() / "run.json");
}

void patchRunInfo(const fs::path& run, const std::function<void(ordered_json&)>& change) {
  auto json = ordered_json::parse(textOf(run / "run.json"));
  json.erase("check");
  change(json);
  put(run / "run.json", dump::withCheck(json.dump(2)) + "\n");
  removeCopies(run);
}

}  // namespace msdbg::test
