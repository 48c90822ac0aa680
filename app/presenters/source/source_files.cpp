#include "app/presenters/source/source_files.h"

#include <algorithm>
#include <set>

#include "core_engine/graph/names.h"

namespace msdbg::app {
namespace {

// "lenet5.cpp", or "a/train.cpp" when there is also b/train.cpp.
QString shortestTitle(const std::string& path, const std::set<std::string>& all) {
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    const std::string end = path.substr(slash + 1);
    const auto same =
        std::ranges::count_if(all, [&](const std::string& p) { return core::endsAtBorder(p, end); });
    if (same == 1) return QString::fromStdString(end);
  }
  return QString::fromStdString(path);
}

// A damaged copy reads as an empty text; the damage says what is wrong with it.
QString whyMissing(const RunFacts& facts, const std::string& path) {
  const QString name = QString::fromStdString(path);
  const auto damage = std::ranges::find_if(
      facts.damage, [&](const replay::Damage& d) { return d.where.ends_with("(" + path + ")"); });
  if (damage != facts.damage.end())
    return QStringLiteral(
               "The run's copy of %1 is damaged: %2: %3.\nRecord the run again, or put the file back.")
        .arg(name, QString::fromStdString(damage->where), QString::fromStdString(damage->what));
  if (facts.sources.contains(path)) return {};
  return QStringLiteral(
             "The run holds no copy of %1: it could not be read when the run was recorded.\n"
             "Record the run again where the file is to be found. The lines of a node are listed below.")
      .arg(name);
}

}  // namespace

std::vector<SourceFile> sourceFiles(const RunFacts& facts, const LineIndex& index) {
  std::set<std::string> paths;
  for (const auto& [path, text] : facts.sources) paths.insert(path);
  for (const auto& [path, counts] : index.files()) paths.insert(path);
  std::vector<SourceFile> files;
  for (const std::string& path : paths)
    files.push_back({path, shortestTitle(path, paths), whyMissing(facts, path)});
  return files;
}

int mostWritten(const core::Graph& graph, const std::vector<SourceFile>& files) {
  std::map<std::string_view, int> nodes;
  for (const core::Node& node : graph.nodes()) {
    const core::Frame* frame = graph.userFrame(node.frames);
    if (frame && !frame->engine) ++nodes[frame->file];
  }
  const auto most =
      std::ranges::max_element(files, {}, [&](const SourceFile& file) { return nodes[file.path]; });
  return static_cast<int>(most - files.begin());
}

}  // namespace msdbg::app
