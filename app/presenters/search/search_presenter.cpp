#include "app/presenters/search/search_presenter.h"

#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/search.h"

namespace msdbg::app {
namespace {

constexpr int kPauseMs = 120;

// The (first) line of a query that named one: FILE:52, FILE:50-55.
std::optional<SourceLine> lineAsked(const std::string& query, const std::string& file) {
  const std::size_t colon = query.rfind(':');
  if (file.empty() || colon == std::string::npos) return std::nullopt;
  return SourceLine{file, std::atoi(query.c_str() + colon + 1)};
}

std::string noNodes(const std::string& query, const replay::SearchResult& result) {
  std::vector<std::string> lines;
  for (const std::int32_t line : result.nearestLines) lines.push_back(std::to_string(line));
  if (lines.empty()) return "no line of " + result.file + " makes a node";
  return query + " makes no node; the nearest lines of " + result.file +
         " that do: " + core::join(lines, ", ");
}

}  // namespace

SearchPresenter::SearchPresenter(Document& document, QObject* parent)
    : QObject(parent), m_document(document), m_results(document.sharedFacts()->graph) {
  m_pause.setSingleShot(true);
  m_pause.setInterval(kPauseMs);
  connect(&m_pause, &QTimer::timeout, this, &SearchPresenter::ask);
  connect(&document.cursor(), &Cursor::selectionChanged, this, &SearchPresenter::selectionChanged);
}

void SearchPresenter::type(const QString& query) {
  if (query.trimmed().isEmpty()) return search({});
  m_query = query.trimmed();
  m_searching = true;
  m_document.replay().cancel(this, "search");  // an answer to the older query would look like this one's
  m_pause.start();
  emit changed();
}

void SearchPresenter::search(const QString& query) {
  m_query = query.trimmed();
  m_searching = true;
  if (!m_query.isEmpty()) return ask();
  m_pause.stop();
  m_document.replay().cancel(this, "search");
  show({});
}

void SearchPresenter::ask() {
  m_pause.stop();
  m_document.replay().ask(
      this, "search",
      [graph = m_document.sharedFacts()->graph, query = m_query.toStdString()](
          replay::Run&, const core::CancelToken&) -> core::Result<Answer> { return answer(*graph, query); },
      [this](core::Result<Answer> found) {
        show(found ? std::move(*found)
                   : Answer{{}, {}, QString::fromStdString(found.error().message()), true});
      });
  emit changed();
}

SearchPresenter::Answer SearchPresenter::answer(const core::Graph& graph, const std::string& query) {
  const auto found = replay::search(graph, query);
  if (!found) return {{}, {}, QString::fromStdString(found.error().message()), true};
  if (found->nodes.empty()) return {{}, {}, QString::fromStdString(noNodes(query, *found)), true};
  const std::string count = replay::counted(static_cast<std::int64_t>(found->nodes.size()), "node");
  const std::string where = found->file.empty() ? "" : " of " + found->file;
  return {found->nodes, lineAsked(query, found->file), QString::fromStdString(count + where), false};
}

void SearchPresenter::show(Answer answer) {
  m_results.setNodes(std::move(answer.nodes));
  m_line = std::move(answer.line);
  m_message = std::move(answer.message);
  m_failed = answer.failed;
  m_searching = false;
  emit changed();
}

void SearchPresenter::select(int row) {
  if (row < 0 || row >= m_results.rowCount()) return;
  m_document.cursor().selectNode(m_results.nodes()[static_cast<std::size_t>(row)]);
}

void SearchPresenter::selectAll() {
  if (!m_results.nodes().empty()) m_document.cursor().selectNodes(m_results.nodes(), m_line);
}

int SearchPresenter::currentRow() const { return m_results.rowOf(m_document.cursor().node()); }

}  // namespace msdbg::app
