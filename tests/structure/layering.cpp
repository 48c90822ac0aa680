#include "tests/structure/layering.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <string_view>

namespace fs = std::filesystem;

namespace msdbg::test {
namespace {

using Names = std::vector<std::string>;

// The libraries that consist of several folders, by the name that the arrows use for all of them.
const std::map<std::string, Names> kLibraries = {
    {"ir", {"core_engine/base", "core_engine/tensor", "core_engine/graph", "core_engine/ops"}},
    {"engine",
     {"core_engine/autodiff", "core_engine/passes", "core_engine/plan", "core_engine/runtime",
      "core_engine/cpu", "core_engine/device", "core_engine/device/emulated", "core_engine/distributed"}},
    {"train", {"core_engine/train", "core_engine/models"}},
    {"run folder", {"dump", "dump/hdf5", "dump/codec", "dump/policy", "dump/reader", "dump/merge"}},
    {"recorder", {"dump/hits", "dump/writer", "dump/session"}},
};

// The arrows of the design: a folder's sources may include their own folder and those named here, and no
// others: what these include in turn is their own affair. The longest matching folder of a file counts.
const std::map<std::string, Names> kArrows = {
    {"core_engine/base", {}},
    {"core_engine/tensor", {"core_engine/base"}},
    {"core_engine/graph", {"ir"}},
    {"core_engine/ops", {"ir"}},
    {"core_engine/autodiff", {"ir"}},
    {"core_engine/distributed", {"ir"}},
    {"core_engine/plan", {"ir"}},
    {"core_engine/passes", {"ir", "core_engine/autodiff"}},
    {"core_engine/runtime", {"ir", "core_engine/plan", "core_engine/distributed"}},
    {"core_engine/cpu", {"ir", "core_engine/plan", "core_engine/runtime"}},
    {"core_engine/device",
     {"ir", "core_engine/plan", "core_engine/runtime", "core_engine/device/kernels",
      "core_engine/device/emulated"}},
    {"core_engine/device/kernels", {"ir", "core_engine/device/emulated"}},  // thread.h, in place of a GPU's
    {"core_engine/device/emulated", {"core_engine/base", "core_engine/device", "core_engine/device/kernels"}},
    // Opened at run time: of the engine it knows the interface and the kernels' sources.
    {"core_engine/cuda", {"core_engine/device", "core_engine/device/kernels"}},
    {"core_engine/train", {"ir", "engine"}},
    {"core_engine/models", {"ir", "engine", "core_engine/train"}},
    {"watchpoints", {"ir"}},
    {"dump", {"ir", "watchpoints", "run folder"}},
    {"dump/hdf5", {"ir", "run folder"}},
    {"dump/codec", {"ir", "run folder"}},
    {"dump/policy", {"ir", "watchpoints", "run folder"}},
    {"dump/reader", {"ir", "watchpoints", "run folder"}},
    {"dump/merge", {"ir", "watchpoints", "run folder"}},
    {"dump/hits", {"ir", "watchpoints", "run folder", "recorder"}},
    {"dump/writer", {"ir", "engine", "watchpoints", "run folder", "recorder"}},
    {"dump/session", {"ir", "engine", "train", "watchpoints", "run folder", "recorder"}},
    {"dump/python/record", {"ir", "watchpoints", "run folder", "recorder"}},
    {"replay", {"ir", "watchpoints", "replay/formats"}},
    {"replay/formats", {"ir", "watchpoints", "run folder", "replay"}},
    {"replay/recompute", {"ir", "engine", "watchpoints", "replay"}},
    {"replay/precision", {"ir", "watchpoints", "replay", "replay/recompute"}},
    {"graph_view/model", {"ir"}},
    {"graph_view/layout", {"ir"}},
    {"graph_view/scene", {"ir", "graph_view/model", "graph_view/layout", "Qt"}},
    // The commands of every msdbg, and those of one that has the engine.
    {"app/cli",
     {"ir", "watchpoints", "run folder", "recorder", "replay", "replay/formats", "graph_view/model"}},
    {"app/cli/engine",
     {"ir", "engine", "train", "watchpoints", "run folder", "recorder", "replay", "replay/formats",
      "replay/recompute", "replay/precision", "app/cli"}},
    {"app/async", {"ir", "watchpoints", "replay", "Qt"}},
    {"app/presenters",
     {"ir", "watchpoints", "replay", "app/async", "graph_view/model", "graph_view/layout", "Qt"}},
    {"app/panels", {"core_engine/base", "replay", "app/presenters", "graph_view/scene", "Qt"}},
    {"app/gui", {"core_engine/base", "replay", "app/presenters", "app/panels", "graph_view/scene", "Qt"}},
    {"resources/examples", {}},  // what is installed, <msdbg/msdbg.h>, and nothing else
};

// Private links: no public header of these folders includes their headers.
constexpr std::array kPublicFolders = {"core_engine", "dump", "watchpoints", "replay", "graph_view"};
const std::regex kPrivateHeader(R"(((hdf5|H5\w+|zstd|zdict|xxh\w*|mpi|cuda\w*|nccl|simdjson)\.h|dnnl.*|)"
                                R"(.*\.pb\.h|(google/protobuf|CLI|spdlog|fmt|oneapi)/.*))");
const std::regex kQtHeader(R"(Q\w+(\.h)?|Qt\w+/.*)");

// Families whose only list names every factory: conv in op_conv.cpp is `convOp` in builtin_ops.cpp.
struct Family {
  const char *folder, *list, *filePattern, *factoryPattern;
};
constexpr Family kFamilies[] = {
    {"core_engine/ops", "builtin_ops.cpp", R"(op_\w+\.cpp)", R"(^OpDef (\w+)\(\))"},
    {"watchpoints/conditions", "builtin_conditions.cpp", R"(\w+\.cpp)", R"(^\w*Condition\w* (\w+)\(\))"},
    {"app/cli", "builtin_commands.cpp", R"(\w+\.cpp)", R"(^\w*Command\w* (\w+Command)\(\))"},
    {"app/cli/engine", "engine_commands.cpp", R"(\w+\.cpp)", R"(^\w*Command\w* (\w+Command)\(\))"},
    {"app/panels", "builtin_panels.cpp", R"(\w+/\w+\.cpp)", R"(^PanelDef (\w+)\(\))"},
};

Names linesOf(const fs::path& file) {
  Names lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool inFolder(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

// The folder of the table that a repository path belongs to; empty if none.
std::string folderOf(const std::string& path) {
  std::string best;
  for (const auto& [folder, allowed] : kArrows)
    if (inFolder(path, folder) && folder.size() > best.size()) best = folder;
  return best;
}

// Whether one of the names is the folder, or a library that it is a part of.
bool names(const Names& allowed, const std::string& folder) {
  return std::ranges::any_of(allowed, [&](const std::string& name) {
    const auto library = kLibraries.find(name);
    return name == folder || (library != kLibraries.end() && names(library->second, folder));
  });
}

bool mayInclude(const std::string& from, const std::string& to) {
  const auto row = kArrows.find(from);
  return from == to || (row != kArrows.end() && names(row->second, to));
}

bool isPublicHeader(const std::string& path) {
  return path.ends_with(".h") && !path.ends_with("_internal.h") && !inFolder(path, "dump/hdf5") &&
         !inFolder(path, "core_engine/cuda") &&
         std::ranges::any_of(kPublicFolders, [&](const char* folder) { return inFolder(path, folder); });
}

// What is wrong with this include of this file; empty if nothing.
std::string breach(const std::string& path, const std::string& target) {
  const std::string from = folderOf(path), to = folderOf(target);
  if (from.empty()) return "this folder has no row in the table of arrows";
  if (!to.empty() && !mayInclude(from, to)) return from + " may not include " + to + ": " + target;
  if (inFolder(target, "tests") || target.starts_with(".")) return "not a path from the root: " + target;
  if (std::regex_match(target, kQtHeader) && !mayInclude(from, "Qt"))
    return from + " may not include Qt: " + target;
  if (isPublicHeader(path) && std::regex_match(target, kPrivateHeader)) return "private in public: " + target;
  return {};
}

// Every .h and .cpp below the root, as paths from it; build folders, hidden folders and the tests apart.
Names sourcesOf(const fs::path& root) {
  Names sources;
  for (fs::recursive_directory_iterator entry(root), end; entry != end; ++entry) {
    const std::string path = fs::relative(*entry, root).generic_string();
    if (path == "build" || path == "tests" || path.starts_with(".")) entry.disable_recursion_pending();
    if (path.ends_with(".h") || path.ends_with(".cpp")) sources.push_back(path);
  }
  std::ranges::sort(sources);
  return sources;
}

}  // namespace

Names layeringBreaches(const fs::path& root) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*["<]([^">]+)[">].*)");
  Names breaches;
  for (const std::string& path : sourcesOf(root)) {
    int number = 0;
    for (const std::string& line : linesOf(root / path)) {
      ++number;
      std::smatch match;
      if (!std::regex_match(line, match, kInclude)) continue;
      const std::string what = breach(path, match[1]);
      if (!what.empty()) breaches.push_back(path + ":" + std::to_string(number) + ": " + what);
    }
  }
  return breaches;
}

Names missingRows(const fs::path& root) {
  Names missing;
  for (const Family& family : kFamilies) {
    std::string list;
    for (const std::string& line : linesOf(root / family.folder / family.list)) list += line + "\n";
    const std::regex file(std::string(family.folder) + "/" + family.filePattern),
        factory(family.factoryPattern);
    for (const std::string& path : sourcesOf(root)) {
      if (!std::regex_match(path, file) || path.ends_with(family.list)) continue;
      for (const std::string& line : linesOf(root / path)) {
        std::smatch match;
        if (!std::regex_search(line, match, factory)) continue;
        if (!std::regex_search(list, std::regex("\\b" + match[1].str() + "\\s*[,}]")))
          missing.push_back(path + ": " + match[1].str() + " is not in " + family.list);
      }
    }
  }
  return missing;
}

}  // namespace msdbg::test
