// SearchPresenter: what `msdbg search` finds, as one types. The graph is searched on the replay thread; a
// newer query replaces the older one. UI thread only; lives no longer than its document.
#pragma once

#include <QObject>
#include <QTimer>

#include "app/presenters/document.h"
#include "app/presenters/search/search_model.h"

namespace msdbg::app {

class SearchPresenter : public QObject {
  Q_OBJECT
 public:
  explicit SearchPresenter(Document& document, QObject* parent = nullptr);

  /// After a short pause in typing; "" clears at once.
  void type(const QString& query);
  /// Now.
  void search(const QString& query);

  const QString& query() const { return m_query; }
  SearchModel& results() { return m_results; }
  bool searching() const { return m_searching; }
  bool failed() const { return m_failed; }  // nothing was found: message() says what is near
  const QString& message() const { return m_message; }

  void select(int row);  // one of the results, everywhere
  void selectAll();      // all of them; the line too when a line was searched for
  /// The row of the node that is selected; -1 when it is none of the results.
  int currentRow() const;

 signals:
  void changed();  // results, message, searching()
  void selectionChanged();

 private:
  struct Answer {
    std::vector<core::NodeId> nodes;
    std::optional<SourceLine> line;  // the one that was asked for
    QString message;
    bool failed = false;
  };
  static Answer answer(const core::Graph& graph, const std::string& query);
  void ask();
  void show(Answer answer);
  Document& m_document;
  SearchModel m_results;
  QTimer m_pause;
  QString m_query, m_message;
  std::optional<SourceLine> m_line;
  bool m_searching = false, m_failed = false;
};

}  // namespace msdbg::app
