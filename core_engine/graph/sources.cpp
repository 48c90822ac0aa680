#include "core_engine/graph/sources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "core_engine/base/text.h"
#include "core_engine/graph/embedded_sources.h"
#include "core_engine/graph/statements.h"

namespace msdbg::core {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxFileBytes = 16u << 20;  // nobody writes more by hand
constexpr std::int32_t kMaxCodeLines = 20;

std::optional<std::string> readFile(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxFileBytes || error)
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return in.bad() ? std::nullopt : std::optional(std::move(text));
}

std::optional<std::string> sourceText(const std::string& file) {
  for (const EmbeddedSource& source : embeddedSources())
    if (source.path == file) return std::string(source.text);
  return file.empty() ? std::nullopt : readFile(file);
}

/// Of the statements on the line the deepest; of those the first to start; then the longest.
bool nearer(const Statement& a, const Statement& b) {
  if (a.depth != b.depth) return a.depth > b.depth;
  return a.first != b.first ? a.first < b.first : a.last > b.last;
}

LineRange rangeAt(std::span<const Statement> statements, std::int32_t line) {
  const Statement* best = nullptr;
  for (const Statement& s : statements)
    if (s.first <= line && line <= s.last && (!best || nearer(s, *best))) best = &s;
  return best ? LineRange{best->first, best->last} : LineRange{line, line};
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// One file, split once for all frames in it.
class SourceFile {
 public:
  explicit SourceFile(std::string_view text)
      : m_lines(split(text, '\n')), m_statements(splitStatements(text)) {}

  void resolve(Frame& frame) const {
    const LineRange range = rangeAt(m_statements, frame.line);
    frame.line = range.first;
    frame.code = code(range);
  }

 private:
  /// The statement on one line.
  std::string code(LineRange range) const {
    const std::int32_t end =
        std::min({range.last, range.first + kMaxCodeLines - 1, static_cast<std::int32_t>(m_lines.size())});
    std::vector<std::string> parts;
    for (std::int32_t line = std::max(range.first, 1); line <= end; ++line)
      if (std::string part = trimmed(m_lines[static_cast<std::size_t>(line) - 1]); !part.empty())
        parts.push_back(std::move(part));
    if (range.last - range.first >= kMaxCodeLines) parts.emplace_back("…");
    return join(parts, " ");
  }

  std::vector<std::string> m_lines;
  std::vector<Statement> m_statements;
};

}  // namespace

LineRange statementAt(std::string_view text, std::int32_t line) {
  return rangeAt(splitStatements(text), line);
}

SourceTexts resolveSources(Graph& graph) {
  SourceTexts texts;
  std::map<std::string, SourceFile> files;
  for (std::size_t i = 0; i < graph.frames().size(); ++i) {
    Frame frame = graph.frames()[i];
    if (!texts.contains(frame.file)) {
      std::optional<std::string> text = sourceText(frame.file);
      if (!text) continue;
      files.emplace(frame.file, SourceFile(*text));
      texts.emplace(frame.file, std::move(*text));
    }
    files.at(frame.file).resolve(frame);
    graph.setFrame(FrameId(static_cast<std::int64_t>(i)), std::move(frame));
  }
  return texts;
}

}  // namespace msdbg::core
