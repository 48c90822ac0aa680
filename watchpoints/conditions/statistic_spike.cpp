// A number that jumps far above what it was: the loss, the norm of the gradients, or any statistic that is
// chosen.
#include <algorithm>
#include <cmath>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/out_of_range.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/outlying_values.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;

constexpr std::size_t kWindow = 200, kLeast = 20, kEarly = 5;
constexpr double kFar = 100;  // times the largest of fewer than kLeast values
constexpr std::string_view kLoss = "loss_mad_gt", kNorm = "norm_mad_gt", kMean = "mean_mad_gt",
                           kLargest = "abs_max_mad_gt", kL2 = "l2_mad_gt";

/// One number of one rank over the iterations.
struct Series {
  std::vector<double> values;      // the last kWindow finite ones
  std::vector<double> logarithms;  // of them: NaN or -inf where there is none
  double first = 0;                // that it began with
  bool spikes = false;             // one is running:
  double limit = 0;                // what it went above
  int length = 0;                  // iterations of it
  std::size_t finding = 0;         // its place among the pending ones

  void add(double value) {
    const auto push = [](std::vector<double>& to, double what) {
      if (to.size() == kWindow) to.erase(to.begin());
      to.push_back(what);
    };
    push(values, value);
    push(logarithms, std::log(value));  // once for each value, not for each that is compared with it
  }
};

struct Followed {
  std::string_view parameter;
  std::string_view what;
  double times;  // MAD
  double floor;  // of the MAD, as a share of the median: norms of healthy runs have heavier tails
};

class StatisticSpike : public Evaluator {
 public:
  StatisticSpike(const core::Graph& graph, const Parameters& parameters, bool recommended)
      : m_recommended(recommended),
        m_tensor(followedTensor(graph, parameters)),
        m_gradients(ownGradients(graph)) {
    if (recommended) m_outlying.emplace(graph);
    const auto follow = [&](std::string_view parameter, std::string_view what, double floor) {
      if (const auto times = numberOf(parameters, parameter))
        m_followed.push_back({parameter, what, *times, floor});
    };
    follow(kMean, "mean", 0.02);
    follow(kLargest, "max|x|", 0.02);
    follow(kL2, "l2 norm", 0.02);
    if (textOf(parameters, "tensor")) {
      if (m_followed.empty()) m_followed.push_back({kMean, "mean", 8, 0.02});
      return;
    }
    follow(kLoss, "loss", 0.02);
    follow(kNorm, "norm of the gradients", 0.25);
  }

  void evaluate(EvaluationContext& context) override {
    if (m_outlying && !context.online) m_outlying->add(context);
    for (const Rank rank : context.ranks)
      for (const Followed& followed : m_followed) {
        const std::optional<double> now = valueOf(context, rank, followed.parameter);
        if (!now || !std::isfinite(*now)) continue;  // nonfinite_propagation's
        ++context.evaluated;
        look(context, rank, followed, *now, m_series[{rank, followed.parameter}]);
      }
  }

  void finish(EvaluationContext& context) override {
    for (auto& [key, series] : m_series)
      if (series.spikes) end(series, lastingText(series.length));
    addOutlying(context);
    for (Pending& pending : m_pending)
      if (!m_recommended || pending.length < kNoSpike) context.findings.push_back(std::move(pending.finding));
    m_pending.clear();
  }

 private:
  /// Where a spike of that iteration says it already, once is enough.
  void addOutlying(EvaluationContext& context) {
    if (!m_outlying) return;
    std::optional<Finding> outlying = m_outlying->first(context);
    const bool isTold = outlying && std::ranges::any_of(m_pending, [&](const Pending& pending) {
                          return pending.finding.iteration == outlying->iteration;
                        });
    if (outlying && !isTold) context.findings.push_back(std::move(*outlying));
  }

  struct Pending {
    Finding finding;
    int length = 0;  // in iterations
  };

  void end(const Series& series, const std::string& text) {
    Pending& pending = m_pending[series.finding];
    pending.finding.detail += text;
    pending.length = series.length;
  }

  static constexpr int kNoSpike = 10;         // iterations that it stays up: another level, loss_diverging's
  static constexpr double kConverged = 0.05;  // of what it began with: what jumps below is next to nothing
  static constexpr int kExplained = 3;        // spikes whose cause is looked for: that reads a lot

  std::optional<double> valueOf(EvaluationContext& context, Rank rank, std::string_view parameter) const {
    if (parameter == kNorm) return normOf(context, rank);
    if (parameter == kLoss)
      if (const auto given = givenLoss(context, rank)) return given;
    const StatisticsRow* row = m_tensor.valid() ? context.rows.now(rank, m_tensor) : nullptr;
    if (!row || row->values.nonFinite() > 0) return std::nullopt;
    const core::TensorStatistics& x = row->values;
    return parameter == kL2        ? x.l2
           : parameter == kLargest ? std::fmax(std::abs(x.min), std::abs(x.max))
                                   : x.mean;
  }

  /// As the program's own recorder gave it; else of all gradients that are recorded.
  std::optional<double> normOf(EvaluationContext& context, Rank rank) const {
    if (const auto given = context.rows.scalar(rank, "gradient_norm")) return given;
    if (context.rows.none()) return std::nullopt;
    double squares = 0;
    bool any = false;
    for (const TensorId gradient : m_gradients)
      if (const StatisticsRow* row = context.rows.now(rank, gradient)) {
        if (row->values.nonFinite() > 0) return std::nullopt;
        squares += row->values.l2 * row->values.l2;
        any = true;
      }
    return any ? std::optional(std::sqrt(squares)) : std::nullopt;
  }

  void look(EvaluationContext& context, Rank rank, const Followed& followed, double now, Series& series) {
    if (series.spikes) {
      if (now > series.limit) return void(++series.length);
      series.spikes = false;
      if (!context.online)
        end(series, "; it is back to " + core::formatShort(now) + " in iteration " +
                        std::to_string(context.iteration.value));
    }
    if (isFarAboveFew(series, now))
      return begin(context, rank, followed, now, {kFar * largestOf(series), 0}, series);
    // Of long runs nearly all is told apart before the median, which takes longest.
    const bool isOver = m_recommended && std::abs(now) <= kConverged * std::abs(series.first);
    if (series.values.size() >= kLeast && !isOver && isAboveMost(series, now)) {
      const Spread spread = spreadOf(series.values, followed.floor);
      const bool isFar = now > spread.limit(followed.times);
      if (isFar && (!m_recommended || isFarInLogarithm(series, now, followed)))
        return begin(context, rank, followed, now, spread, series);
    }
    if (series.values.empty()) series.first = now;
    series.add(now);
  }

  /// Before there are enough values for a median.
  static bool isFarAboveFew(const Series& series, double now) {
    const std::size_t count = series.values.size();
    return count >= kEarly && count < kLeast && largestOf(series) > 0 && now > kFar * largestOf(series);
  }
  static double largestOf(const Series& series) {
    double largest = 0;
    for (const double value : series.values) largest = std::max(largest, std::abs(value));
    return largest;
  }

  /// Else it is not above the median either, which is quicker told than the median.
  static bool isAboveMost(const Series& series, double now) {
    const auto reach = static_cast<std::size_t>(
        std::ranges::count_if(series.values, [&](double value) { return value >= now; }));
    return 2 * reach <= series.values.size() + 1;
  }

  /// What spreads over decades, as the norms of policy gradients, has no spike that is a few times the
  /// median.
  static bool isFarInLogarithm(const Series& series, double now, const Followed& followed) {
    if (now <= 0 || std::ranges::any_of(series.values, [](double value) { return value <= 0; })) return true;
    return std::log(now) > spreadOf(series.logarithms, 0).limit(followed.times);
  }

  void begin(EvaluationContext& context, Rank rank, const Followed& followed, double now,
             const Spread& spread, Series& series) {
    const std::optional<Outlier> cause =
        m_explained++ < kExplained ? causeOf(context, rank) : std::optional<Outlier>();
    Finding finding =
        findingAt(context, {context.iteration, rank, placeOf(cause, followed)}, precedence::kSymptom);
    finding.parameter = followed.parameter;
    finding.preset = spread.limit(followed.times);
    finding.actual = now;
    finding.detail = "the " + std::string(followed.what) + " is " + core::formatShort(now) + ", " +
                     usualText(series, spread);
    if (cause)
      finding.detail += "; the first tensor out of its range is " +
                        context.graph().tensor(cause->tensor).fullName() +
                        (cause->isNew ? ", which no iteration before has" : "");
    if (isClipped(context, rank))
      finding.advice =
          "Look at the batch of this iteration first, then at the tensor that is named and at the learning "
          "rate. Gradients are clipped by their norm already, so that one such batch does little harm.";
    if (const std::string shares = largestShares(context, rank, m_gradients); !shares.empty())
      finding.detail += "; of the squared gradient norm " + shares;
    series.spikes = true;
    series.limit = finding.preset;
    series.length = 1;
    series.finding = m_pending.size();
    if (context.online) return context.findings.push_back(std::move(finding));
    m_pending.push_back({std::move(finding)});
  }

  /// By their norm, by an optimizer of ours or by what a recorder of PyTorch saw.
  static bool isClipped(EvaluationContext& context, Rank rank) {
    const auto isNorm = [](const core::TensorInfo& info) { return info.name == "optimizer/clip_norm"; };
    return std::ranges::any_of(context.graph().tensors(), isNorm) ||
           context.rows.scalar(rank, "gradient_norm").has_value();
  }

  /// What is of another order of magnitude, else what left its own range: that may have grown by training.
  static std::optional<Outlier> causeOf(EvaluationContext& context, Rank rank) {
    constexpr double kTimes = 10;
    const std::optional<Outlier> sudden = suddenOutlier(context, rank, context.iteration, kTimes);
    return sudden ? sudden : firstOutOfRange(context, rank, context.iteration);
  }

  static std::string usualText(const Series& series, const Spread& spread) {
    const std::string count = std::to_string(series.values.size()) + " iterations before";
    if (series.values.size() < kLeast)
      return "at most " + core::formatShort(largestOf(series)) + " in the " + count;
    return "usually " + core::formatShort(spread.median) + " (median of " + count + ", MAD " +
           core::formatShort(spread.mad) + ")";
  }

  /// Where the spike began, else where it is seen.
  TensorId placeOf(const std::optional<Outlier>& cause, const Followed& followed) const {
    if (cause) return cause->tensor;
    if (followed.parameter == kNorm && !m_gradients.empty()) return m_gradients.front();
    return m_tensor;
  }

  static std::string lastingText(int length) {
    return "; it stays there to the end of the run, " + std::to_string(length) +
           (length == 1 ? " iteration" : " iterations");
  }

  bool m_recommended;
  TensorId m_tensor;
  std::vector<TensorId> m_gradients;
  std::vector<Followed> m_followed;
  std::map<std::pair<Rank, std::string_view>, Series> m_series;
  std::vector<Pending> m_pending;
  int m_explained = 0;
  std::optional<OutlyingValues> m_outlying;
};

}  // namespace

ConditionDef statisticSpikeCondition() {
  ConditionDef def;
  def.id = "statistic_spike";
  def.title = "Spike of loss, gradients or values";
  def.doc =
      "A number is above median + 8 MAD (median absolute deviations) of its up to 200 finite values before, "
      "20 at least, or above 100 times the largest of fewer, 5 at least: the loss, and the norm of all "
      "gradients of parameters; or, with tensor=, the mean, "
      "max|x| or l2 norm of that tensor. A MAD below 2 % of the median (25 % of the norm's) counts as that. "
      "Named at the first tensor that is out of its own range in the same way, with the parameters that make "
      "up most of the norm. Spikes of iterations before are not among the values. Recommended: above as many "
      "MAD of the logarithms and 5 % "
      "of the first value too, and back within ten iterations; or the first tensor of the forward pass whose "
      "root mean square is 1,000 times that of any other iteration, of ten or more.";
  def.advice =
      "Look at the batch of this iteration first, then at the tensor that is named and at the learning rate. "
      "A spike that comes back now and then is what clipping the norm of gradients is for.";
  def.severity = Severity::kHint;
  def.target = Target::kLoss;
  def.parameters = {
      {kLoss, ParameterType::kPos, 8.0, "hit if the loss is so many MAD above its median"},
      {kNorm, ParameterType::kPos, 8.0, "hit if the norm of the gradients is so many MAD above its median"},
      {kMean, ParameterType::kPos, {}, "of the tensor that is named: its mean"},
      {kLargest, ParameterType::kPos, {}, "of the tensor that is named: its largest |x|"},
      {kL2, ParameterType::kPos, {}, "of the tensor that is named: its l2 norm"},
      followedParameter()};
  def.make = [](const core::Graph& graph, const Parameters& parameters,
                bool recommended) -> std::unique_ptr<Evaluator> {
    return std::make_unique<StatisticSpike>(graph, parameters, recommended);
  };
  return def;
}

}  // namespace msdbg::watch
