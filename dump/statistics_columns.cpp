#include "dump/statistics_columns.h"

#include <cstring>
#include <limits>

namespace msdbg::dump {
namespace {

using core::ActivationStatistics;
using core::ChangeStatistics;
using core::DType;
using core::TensorStatistics;
using watch::StatisticsRow;

template <typename T>
constexpr T kNothing = std::numeric_limits<T>::quiet_NaN();
template <>
constexpr std::int64_t kNothing<std::int64_t> = -1;

template <typename T>
void put(std::byte* cell, T value) {
  std::memcpy(cell, &value, sizeof value);
}
template <typename T>
T get(const std::byte* cell) {
  T value;
  std::memcpy(&value, cell, sizeof value);
  return value;
}

template <typename T, auto Read>
void readEach(const std::byte* cells, std::size_t count, StatisticsRow* rows) {
  for (std::size_t i = 0; i < count; ++i) Read(get<T>(cells + i * sizeof(T)), rows[i]);
}

template <auto Member, typename T>
constexpr StatisticsColumn value(std::string_view name) {
  return {name,
          core::kDTypeOf<T>,
          1,
          false,
          [](const StatisticsRow* row, std::byte* cell) {
            put<T>(cell, row ? row->values.*Member : kNothing<T>);
          },
          readEach<T, [](T stored, StatisticsRow& row) { row.values.*Member = stored; }>};
}
template <auto Member>
constexpr auto count(std::string_view name) {
  return value<Member, std::int64_t>(name);
}
template <auto Member>
constexpr auto number(std::string_view name) {
  return value<Member, double>(name);
}

// Columns of an optional part. The first of the part says whether it is there, so it must be read first.
template <auto Part, auto Member, typename T, bool First = false>
constexpr StatisticsColumn extra(std::string_view name) {
  return {name,
          core::kDTypeOf<T>,
          1,
          false,
          [](const StatisticsRow* row, std::byte* cell) {
            const bool there = row && (row->*Part).has_value();
            put<T>(cell, there ? *(row->*Part).*Member : First ? T(-1) : kNothing<T>);
          },
          readEach<T, [](T stored, StatisticsRow& row) {
            if (First && stored != T(-1)) (row.*Part).emplace();
            if ((row.*Part).has_value()) *(row.*Part).*Member = stored;
          }>};
}
template <auto Member, typename T, bool First = false>
constexpr auto change(std::string_view name) {
  return extra<&StatisticsRow::change, Member, T, First>(name);
}
template <auto Member, bool First = false>
constexpr auto share(std::string_view name) {
  return extra<&StatisticsRow::activation, Member, double, First>(name);
}

constexpr StatisticsColumn kHash = {
    "hash",
    DType::Int64,
    2,
    true,
    [](const StatisticsRow* row, std::byte* cell) {
      put<std::uint64_t>(cell, row ? row->values.hash.low : 0);
      put<std::uint64_t>(cell + 8, row ? row->values.hash.high : 0);
    },
    readEach<core::Hash128,
             [](const core::Hash128& stored, StatisticsRow& row) { row.values.hash = stored; }>};

constexpr StatisticsColumn kColumns[] = {
    count<&TensorStatistics::count>("count"),
    count<&TensorStatistics::nan>("nan"),
    count<&TensorStatistics::posInf>("posinf"),
    count<&TensorStatistics::negInf>("neginf"),
    count<&TensorStatistics::zero>("zero"),
    count<&TensorStatistics::negative>("negative"),
    count<&TensorStatistics::positive>("positive"),
    number<&TensorStatistics::min>("min"),
    number<&TensorStatistics::max>("max"),
    number<&TensorStatistics::mean>("mean"),
    number<&TensorStatistics::meanAbs>("mean_abs"),
    number<&TensorStatistics::std>("std"),
    number<&TensorStatistics::l1>("l1"),
    number<&TensorStatistics::l2>("l2"),
    kHash,
    change<&ChangeStatistics::outsideTolerance, std::int64_t, true>("change_outside"),
    change<&ChangeStatistics::skipped, std::int64_t>("change_skipped"),
    change<&ChangeStatistics::meanAbsChange, double>("change_mean_abs"),
    change<&ChangeStatistics::maxAbsChange, double>("change_max_abs"),
    change<&ChangeStatistics::meanAbsPrevious, double>("change_previous_mean_abs"),
    share<&ActivationStatistics::shareInRange, true>("range_share"),
    share<&ActivationStatistics::shareDeadUnits>("dead_share"),
};

}  // namespace

std::span<const StatisticsColumn> statisticsColumns() { return kColumns; }

watch::StatisticsRow hashOnly(const core::Hash128& hash) {
  watch::StatisticsRow row;
  row.values.count = -1;
  row.values.hash = hash;
  return row;
}

std::size_t statisticsRowBytes() {
  std::size_t bytes = 0;
  for (const StatisticsColumn& column : kColumns) bytes += column.bytes();
  return bytes;
}

}  // namespace msdbg::dump
