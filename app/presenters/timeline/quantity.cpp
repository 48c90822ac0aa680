#include "app/presenters/timeline/quantity.h"

#include <algorithm>
#include <array>

#include "core_engine/tensor/flags.h"

namespace msdbg::app {
namespace {

using Row = watch::StatisticsRow;
using core::TensorStatistics;

template <auto kMember>
std::optional<double> value(const Row& row) {
  const auto number = static_cast<double>(row.values.*kMember);
  if (core::isFlags(row.values) && !(number >= 0)) return {};  // it was not looked at
  return number;
}

template <auto kMember>
std::optional<double> change(const Row& row) {
  if (!row.change) return {};
  return static_cast<double>((*row.change).*kMember);
}

template <auto kMember>
std::optional<double> activation(const Row& row) {
  if (!row.activation) return {};
  return 100 * (*row.activation).*kMember;
}

std::optional<double> zeroShare(const Row& row) {
  if (row.values.count == 0 || core::isFlags(row.values)) return {};
  return 100 * static_cast<double>(row.values.zero) / static_cast<double>(row.values.count);
}

constexpr const char* kOfUpdates =
    "it is recorded for parameters: select the output of an update, such as update/…/SgdUpdate-op1";
constexpr const char* kOfActivations = "it is recorded for outputs of activation functions, such as Relu";

constexpr std::array kStatistics = {
    StatisticDef{"mean_abs", "mean |x|", nullptr, value<&TensorStatistics::meanAbs>},
    StatisticDef{"mean", "mean", nullptr, value<&TensorStatistics::mean>},
    StatisticDef{"std", "standard deviation", nullptr, value<&TensorStatistics::std>},
    StatisticDef{"min", "minimum", nullptr, value<&TensorStatistics::min>},
    StatisticDef{"max", "maximum", nullptr, value<&TensorStatistics::max>},
    StatisticDef{"l1", "L1 norm", nullptr, value<&TensorStatistics::l1>},
    StatisticDef{"l2", "L2 norm", nullptr, value<&TensorStatistics::l2>},
    StatisticDef{"zero", "zeros, %", nullptr, zeroShare},
    StatisticDef{"nan", "NaN elements", nullptr, value<&TensorStatistics::nan>},
    StatisticDef{
        "inf", "Inf elements", nullptr,
        [](const Row& row) -> std::optional<double> { return static_cast<double>(row.values.inf()); }},
    StatisticDef{"change_mean_abs", "mean change", kOfUpdates,
                 change<&core::ChangeStatistics::meanAbsChange>},
    StatisticDef{"change_max_abs", "largest change", kOfUpdates,
                 change<&core::ChangeStatistics::maxAbsChange>},
    StatisticDef{"share_in_range", "in range, %", kOfActivations,
                 activation<&core::ActivationStatistics::shareInRange>},
    StatisticDef{"share_dead_units", "dead units, %", kOfActivations,
                 activation<&core::ActivationStatistics::shareDeadUnits>},
};

// "learning_rate" -> "learning rate"
QString spoken(const std::string& scalar) { return QString::fromStdString(scalar).replace('_', ' '); }

}  // namespace

std::span<const StatisticDef> timelineStatistics() { return kStatistics; }

std::vector<Quantity> quantitiesOf(const RunFacts& facts) {
  std::vector<Quantity> quantities;
  std::vector<std::string> scalars = facts.scalars;
  std::ranges::stable_partition(scalars, [](const std::string& name) { return name == "loss"; });
  for (const std::string& scalar : scalars)
    quantities.push_back(
        {QStringLiteral("scalar:") + QString::fromStdString(scalar), spoken(scalar), false, scalar, 0});
  for (std::size_t i = 0; i < kStatistics.size(); ++i)
    quantities.push_back({QStringLiteral("statistic:") + QString::fromLatin1(kStatistics[i].id),
                          QString::fromUtf8(kStatistics[i].title),
                          true,
                          {},
                          i});
  return quantities;
}

}  // namespace msdbg::app
