// What the walk of explain() reads: values and rows, stored or computed again, and what is usual. Used from
// the run's thread.
#pragma once

#include <list>
#include <map>

#include "replay/explain/explain.h"
#include "watchpoints/blame/usual_range.h"
#include "watchpoints/meaning/translated_source.h"

namespace msdbg::replay {

/// The first element that is not finite, else that of the largest magnitude; nullopt: there is none.
std::optional<std::int64_t> tellingElement(const core::Tensor& value, const core::CancelToken& cancel);

class ExplainLook {
 public:
  ExplainLook(Run& run, const ExplainOptions& options) : m_run(run), m_read(run), m_options(options) {}

  Run& run() const { return m_run; }
  /// The run with its graph in our terms.
  watch::Source& source() const { return *m_read; }
  const core::Graph& graph() const { return source().graph(); }
  const ExplainOptions& options() const { return m_options; }

  core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration, core::TensorId tensor);

  /// What is usual of the tensor's magnitudes before the iteration; where nothing is recorded of that, what
  /// is usual within its value now.
  struct Usual {
    double magnitude = 0;
    std::string text;  // "usually 0.02 (…)"
    bool fromHistory = false;
  };
  std::optional<Usual> usual(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  /// "" where the value is not far above what is usual.
  std::string unusualText(core::Rank rank, core::Iteration iteration, core::TensorId tensor, double value);
  /// How many times the usual it is, to compare factors by.
  double relative(core::Rank rank, core::Iteration iteration, core::TensorId tensor, double value);

 private:
  using Key = std::tuple<core::Rank, core::Iteration, core::TensorId>;
  Run& m_run;
  watch::TranslatedSource m_read;
  const ExplainOptions& m_options;
  std::list<std::pair<Key, core::Tensor>> m_values;  // newest first, a few
  std::map<Key, std::optional<Usual>> m_usual;
};

}  // namespace msdbg::replay
