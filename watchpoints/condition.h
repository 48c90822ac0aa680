// A condition is one file: conditions/<id>.cpp, and one row in conditions/builtin_conditions.cpp. The table
// drives the command line, forms, JSON and help. Formulas: shared/specs/watchpoints.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core_engine/base/cancel.h"
#include "watchpoints/iteration_rows.h"
#include "watchpoints/parameters.h"
#include "watchpoints/step.h"

namespace msdbg::watch {

enum class Severity { kFault, kHint };
enum class Target { kTensor, kWeight, kGradient, kActivation, kLoss, kCollective, kRun };

/// What a condition found. The engine fills in the rest of a hit (order, node, frames, inputs, advice).
struct Finding {
  core::Iteration iteration;
  core::Rank rank;
  core::NodeId node;      // where it is wrong; invalid for sources, and for the run as a whole
  core::TensorId tensor;  // invalid: the run as a whole, or a node that made none
  std::string parameter;  // which threshold was exceeded; "" where there is none
  double preset = 0, actual = 0;
  std::optional<std::int64_t> element;  // flat index of the first wrong element, when known
  std::int64_t count = 0;               // how many elements are wrong, when known
  /// A tensor whose line is the cause's ("optimizer/learning_rate" has the Trainer's); invalid: the line of
  /// the node or tensor.
  core::TensorId writtenAt;
  std::string detail;  // "received from rank 1 through Allreduce-op3", "rank 1 differs from ranks 0, 2, 3"
  std::string advice;  // what to look at next, where this finding knows better than its condition; else ""
  /// The end of the run speaks against it (training recovered): nothing, unless something else is wrong too.
  bool excused = false;
  std::optional<Severity> severity;  // overrides the condition's own (loss-like hints)
  /// Least (iteration, order, rank, precedence) is the answer; at one place the lower precedence explains the
  /// others.
  int precedence = 50;
};

/// Why something could not be evaluated: reasons are `nan`, `inf`, `no_previous`, `no_value`,
/// `thinned`, `only_flags`, `shape_changed`, `zero_previous`, `damaged`, `no_tensor`.
struct NotEvaluable {
  std::string condition, reason;
  core::Iteration iteration;  // invalid: all
  core::Rank rank;
  core::TensorId tensor;
  std::string detail;
  std::int64_t count = 1;  // how many places were folded into this entry
};

/// What cannot be evaluated, folded while it is listed: one entry for each (reason, tensor), with a count. A
/// field that is not the same in all of them becomes invalid.
class NotEvaluableList {
 public:
  void add(NotEvaluable entry) { add(Row{std::move(entry), {}}); }
  /// The entry of each of these tensors, in the time of one. They stay where they are until take().
  void addEach(std::span<const core::TensorId> tensors, NotEvaluable entry) {
    if (!tensors.empty()) add(Row{std::move(entry), tensors});
  }
  /// All of another list, as if it had been listed in so many iterations, of which `last` is the last.
  void add(const NotEvaluableList& other, std::int64_t times, core::Iteration last);
  std::vector<NotEvaluable> take();
  bool operator==(const NotEvaluableList& other) const;  // but for the iterations

 private:
  struct Row {
    NotEvaluable entry;                       // of one tensor, or of each of
    std::span<const core::TensorId> tensors;  // these
  };
  using Key = std::tuple<std::string, core::TensorId, const core::TensorId*>;
  void add(Row row);

  std::vector<Row> m_rows;
  std::map<Key, std::size_t> m_index;  // walked by nobody
};

/// One iteration as an evaluator sees it, and where its answers go.
struct EvaluationContext {
  Source& source;       // values; statistics come from `rows`
  IterationRows& rows;  // of this iteration and the one before
  const Step& step;     // of this iteration
  const Parameters& parameters;
  bool recommended = false;              // part of the recommended set: skip what that set skips
  core::Iteration iteration;             // of finish(): the last one
  std::span<const core::Rank> ranks;     // selected ones that recorded this iteration
  std::span<const core::Rank> allRanks;  // selected ones
  const std::function<bool(core::Iteration)>& selected;
  bool beforeSelected = false;  // the iteration before is among those that are asked for
  /// True while training goes on: nobody knows how it ends, and finish() is never called.
  bool online = false;
  core::CancelToken cancel;
  std::vector<Finding>& findings;
  NotEvaluableList& notEvaluable;
  std::int64_t& evaluated;  // how many (tensor, iteration, rank) were evaluated

  const core::Graph& graph() const { return source.graph(); }
  /// The first of `ranks` that has the tensor in this iteration; the first of them where none has.
  core::Rank rankWith(core::TensorId tensor) const;
  /// What a node reads on a rank in this iteration.
  std::span<const core::TensorId> inputs(core::Rank rank, const core::Node& node) const {
    return inputsOf(source, rank, iteration, node);
  }
};

/// One watchpoint at work: sees the selected iterations one by one, ascending, and remembers what it needs of
/// earlier ones. Made for one graph.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual void evaluate(EvaluationContext& context) = 0;
  /// After the last iteration: what only the end of the run decides.
  virtual void finish(EvaluationContext&) {}
};

/// What is found does to the numbers of training.
enum class Effect {
  kAny,
  kNonFinite,  // it is a NaN or Inf
  kSilent,     // they stay finite: a NaN or Inf that comes later has a cause of its own, and is told first
};

struct ConditionDef {
  std::string_view id;
  std::string_view title;   // "Gradient vanishing"
  std::string_view doc;     // one paragraph: formula and source
  std::string_view advice;  // what to look at next
  Severity severity = Severity::kFault;
  Target target = Target::kTensor;
  Effect effect = Effect::kAny;
  std::vector<ParameterSpec> parameters;
  bool needsParameter = false;  // at least one of the thresholds without default must be given
  bool needsValues = false, needsPrevious = false, needsAllRanks = false;
  /// Looks at nothing of an iteration but rows of statistics, its own and those before: several iterations
  /// without any, one after the other, are all alike to it. So no scalars, and no values but of what has a
  /// row.
  bool rowsOnly = false;
  std::unique_ptr<Evaluator> (*make)(const core::Graph& graph, const Parameters& parameters,
                                     bool recommended) = nullptr;
  /// What is wrong with parameters that are each in range ("range_start_inclusive is above …"); "" if
  /// nothing.
  std::string (*validate)(const Parameters& parameters) = nullptr;
  /// Why it cannot be asked while the run goes on, of the statistics of one rank ("needs …"); "" if it can.
  std::string (*notOnline)(const Parameters& parameters, bool recommended) = nullptr;
};

using ConditionFactory = ConditionDef (*)();
std::span<const ConditionFactory> builtinConditions();  // conditions/builtin_conditions.cpp: the only list
std::span<const ConditionDef> allConditions();          // in the order of the list
const ConditionDef* findCondition(std::string_view id);

/// One use of a condition: `gradient_vanishing:abs_mean_lt=1e-9`.
struct Watchpoint {
  const ConditionDef* condition = nullptr;
  Parameters parameters;
  bool recommended = false;
  std::optional<Severity> severity;  // the recommended set may make a hint of it
  std::string text() const;
  /// As parseWatchpoint() reads it back, severity and exceptions of the recommended set included.
  std::string argument() const { return recommended ? std::string(condition->id) + ":recommended" : text(); }
};
/// `CONDITION[:param=value,…]`, or `CONDITION:recommended`: as the recommended set has it. kNotFound /
/// kUsage: unknown condition or parameter (nearest ones), value out of range (the range is named), none given
/// where one is needed, range_start > range_end, a text longer than 16384 characters.
core::Result<Watchpoint> parseWatchpoint(std::string_view text);
/// Whether the tensors that its parameters name are there, and of its condition's kind. kNotFound, with the
/// nearest names; kUsage: the end of several names.
core::Status namesFit(const Watchpoint& watchpoint, const core::Graph& graph);
/// The set used when no -w is given (shared/specs/watchpoints.md "Recommended set").
std::vector<Watchpoint> recommendedSet();

}  // namespace msdbg::watch
