// Statistics and hashes taken on a device against those of the host: equal bits, whatever order the threads
// run in.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core_engine/device/device_context.h"
#include "core_engine/device/emulated/emulated_device.h"
#include "core_engine/device/statistics.h"

using namespace msdbg::core;
using device::DeviceContext;
using device::DeviceStatistics;
using device::emulated::ThreadOrder;

namespace {

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled};
constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kBlock = 16384;
// Around what fills lanes, stripes, segments, tiles and blocks, and the ways to hash what is short (60: 240
// bytes).
constexpr std::int64_t kSizes[] = {
    0,   1,   2,   3,    4,    5,    8,    15,    16,    17,    31,
    32,  33,  59,  60,   61,   100,  255,  256,   257,   271,   272,
    273, 512, 513, 1000, 2047, 2048, 2049, 16383, 16384, 16385, 3 * kBlock + 5};

using Values = std::vector<float>;

Values normal(std::int64_t count, float mean = 0, float deviation = 1) {
  std::mt19937_64 random(static_cast<std::uint64_t>(count) + 1);
  std::normal_distribution<float> distribution(mean, deviation);
  Values values(static_cast<std::size_t>(count));
  for (float& v : values) v = distribution(random);
  return values;
}
/// `value` at about a part in `apart` of the places.
Values planted(Values values, std::initializer_list<float> planted, std::size_t apart,
               std::uint64_t seed = 3) {
  std::mt19937_64 random(seed);
  for (std::size_t i = random() % apart; i < values.size(); i += 1 + random() % (2 * apart))
    values[i] = planted.begin()[random() % planted.size()];
  return values;
}

std::uint64_t bitsOf(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return std::isnan(value) ? ~std::uint64_t{0} : bits;
}
using Numbers = std::vector<std::pair<std::string, std::uint64_t>>;
Numbers numbersOf(const TensorObservation& o) {
  const TensorStatistics& s = o.values;
  Numbers all;
  const auto count = [&](const char* name, std::int64_t n) {
    all.emplace_back(name, static_cast<std::uint64_t>(n));
  };
  const auto number = [&](const char* name, double n) { all.emplace_back(name, bitsOf(n)); };
  count("count", s.count), count("nan", s.nan), count("posInf", s.posInf), count("negInf", s.negInf);
  count("zero", s.zero), count("negative", s.negative), count("positive", s.positive);
  number("min", s.min), number("max", s.max), number("mean", s.mean), number("meanAbs", s.meanAbs);
  number("std", s.std), number("l1", s.l1), number("l2", s.l2);
  all.emplace_back("hash low", s.hash.low), all.emplace_back("hash high", s.hash.high);
  if (o.change) {
    number("meanAbsChange", o.change->meanAbsChange), number("maxAbsChange", o.change->maxAbsChange);
    number("meanAbsPrevious", o.change->meanAbsPrevious);
    count("outside", o.change->outsideTolerance), count("skipped", o.change->skipped);
  }
  if (o.activation) {
    number("shareInRange", o.activation->shareInRange);
    number("shareDeadUnits", o.activation->shareDeadUnits);
  }
  for (const Hash128& hash : o.blocks)
    all.emplace_back("block", hash.low), all.emplace_back("block", hash.high);
  return all;
}
std::string difference(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return "another number of numbers";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      return a[i].first + ": " + std::to_string(a[i].second) + " and " + std::to_string(b[i].second);
  return "";
}

/// A tensor on the device, `offset` elements into its memory.
class Machine {
 public:
  explicit Machine(ThreadOrder order)
      : m_context(std::make_shared<DeviceContext>(device::emulated::makeEmulatedDevice(order))),
        m_statistics(*m_context) {}

  Tensor onDevice(const Tensor& host, std::int64_t offset = 0) {
    const Tensor whole = m_context->zeros(host.dtype(), {host.elements() + offset});
    const Tensor part = whole.part(offset, host.shape());
    m_context->upload(host, part);
    return part;
  }
  std::string compare(const Tensor& x, const Tensor* previous, std::optional<std::pair<double, double>> range,
                      std::int64_t offset = 0) {
    const Tensor there = onDevice(x, offset);
    std::optional<Tensor> previousThere;
    if (previous) previousThere = onDevice(*previous, offset);
    m_statistics.note(there, {.previous = previous ? &*previousThere : nullptr, .range = range});
    const auto taken = m_statistics.collect();
    if (!taken) return taken.error().message();
    return difference(numbersOf(taken->at(0)),
                      numbersOf(observeTensor(x, {.previous = previous, .range = range})));
  }
  DeviceContext& context() { return *m_context; }

 private:
  std::shared_ptr<DeviceContext> m_context;
  DeviceStatistics m_statistics;
};

Tensor tensorOf(const Values& values, Shape shape) { return Tensor::of<float>(std::move(shape), values); }
Tensor tensorOf(const Values& values) { return tensorOf(values, {static_cast<std::int64_t>(values.size())}); }

struct Kind {
  const char* name;
  Values (*make)(std::int64_t count);
};
const Kind kKinds[] = {
    {"normal", [](std::int64_t n) { return normal(n); }},
    {"zeros of both signs",
     [](std::int64_t n) {
       return planted(normal(n), {0.0f, -0.0f}, 3);
     }},
    {"all zero", [](std::int64_t n) { return Values(static_cast<std::size_t>(n), 0.0f); }},
    {"all -0.0", [](std::int64_t n) { return Values(static_cast<std::size_t>(n), -0.0f); }},
    {"all equal", [](std::int64_t n) { return Values(static_cast<std::size_t>(n), 0.1f); }},
    {"denormal",
     [](std::int64_t n) {
       return planted(normal(n, 0, 1e-40f), {1e-45f, -1e-45f}, 5);
     }},
    {"cancelling", [](std::int64_t n) { return normal(n, 1e6f, 1e-1f); }},
    {"little cancelling", [](std::int64_t n) { return normal(n, 7.9f, 1); }},
    {"huge",
     [](std::int64_t n) {
       return planted(normal(n, 0, 1e37f), {3.4e38f, -3.4e38f}, 20);
     }},
    {"one NaN",
     [](std::int64_t n) { return planted(normal(n, 3), {kNaN}, static_cast<std::size_t>(n) + 1); }},
    {"few not finite",
     [](std::int64_t n) {
       return planted(normal(n, 3), {kNaN, kInf, -kInf, -kNaN}, 700);
     }},
    {"many not finite",
     [](std::int64_t n) {
       return planted(normal(n, 0), {kNaN, kInf, -kInf, 0.0f}, 2);
     }},
    {"all NaN", [](std::int64_t n) { return Values(static_cast<std::size_t>(n), kNaN); }},
    {"all -Inf", [](std::int64_t n) { return Values(static_cast<std::size_t>(n), -kInf); }},
};

}  // namespace

TEST_CASE("A device takes the host's statistics and hashes of every kind of values") {
  for (const ThreadOrder order : kOrders) {
    Machine machine(order);
    for (const std::int64_t size : kSizes)
      for (const Kind& kind : kKinds) {
        INFO(size << " " << kind.name << ", order " << static_cast<int>(order));
        CHECK(machine.compare(tensorOf(kind.make(size)), nullptr, {}) == "");
      }
  }
}

TEST_CASE("A device takes the host's change") {
  for (const ThreadOrder order : kOrders) {
    Machine machine(order);
    for (const std::int64_t size : kSizes) {
      const Values x = normal(size, 2);
      Values close = x, far = normal(size + 1, -1);
      far.pop_back();
      for (std::size_t i = 0; i < close.size(); ++i) close[i] *= 1 + 2e-5f * static_cast<float>(i % 3);
      const auto broken = [&](const Values& values) { return planted(values, {kNaN, kInf, -kInf}, 9, 8); };
      const Values previous[] = {x, close, far, broken(x), Values(x.size(), kNaN), Values(x.size(), 0.0f)};
      for (std::size_t i = 0; i < std::size(previous); ++i) {
        INFO(size << ", previous " << i << ", order " << static_cast<int>(order));
        const Tensor p = tensorOf(previous[i]);
        CHECK(machine.compare(tensorOf(x), &p, {}) == "");
        CHECK(machine.compare(tensorOf(planted(x, {kNaN, kInf, -kInf, -0.0f}, 7)), &p, {}, 1) == "");
      }
    }
  }
}

TEST_CASE("A device takes the host's share in a range and of dead units") {
  const Shape shapes[] = {
      {},           {1},       {61},         {5, 3},         {1, 7},           {300, 1},      {200, 33},
      {700, 64},    {3, 4, 5}, {4, 3, 7, 7}, {2, 3, 17, 31}, {2, 2, 100, 100}, {1, 2, 40000}, {2, 20000},
      {40, 300, 2}, {3, 0, 4}, {0, 4, 3},    {3, 4, 0}};
  const std::pair<double, double> ranges[] = {{-1, 1}, {0, 0},    {0.1, 1e300}, {-1e-50, 1e-50},
                                              {2, -2}, {kNaN, 1}, {-kInf, kInf}};
  for (const ThreadOrder order : kOrders) {
    Machine machine(order);
    for (const Shape& shape : shapes) {
      const Values noise = normal(shape.elements());
      Values mostlyDead = noise;  // units with about 0, 1, 2 … of a hundred elements > 0
      const std::int64_t units = shape.rank() < 2 ? 1 : shape[1],
                         inner = shape.rank() < 2 || shape[0] * units == 0
                                     ? 1
                                     : shape.elements() / (shape[0] * units);
      std::mt19937_64 random(7);
      for (std::size_t i = 0; i < mostlyDead.size(); ++i)
        if (static_cast<std::int64_t>(random() % 150) >= static_cast<std::int64_t>(i) / inner % units % 4)
          mostlyDead[i] = -std::fabs(mostlyDead[i]);
      const Values all[] = {noise, mostlyDead, planted(mostlyDead, {kNaN, kInf, -kInf}, 50)};
      for (std::size_t v = 0; v < std::size(all); ++v)
        for (std::size_t r = 0; r < (v == 0 ? std::size(ranges) : 1); ++r) {
          INFO(shape.text() << ", values " << v << ", range " << r << ", order " << static_cast<int>(order));
          CHECK(machine.compare(tensorOf(all[v], shape), nullptr, ranges[r], 3) == "");
        }
    }
  }
}

TEST_CASE("Ends of a range lie between float32 numbers") {
  Values x;
  for (const float v : {0.1f, 0.7f, -0.1f, -0.7f, 0.0f, 3e38f})
    for (const float to : {-kInf, v, kInf}) x.push_back(std::nextafter(v, to));
  Machine machine(ThreadOrder::kForward);
  for (const double start : {0.1, 0.7, -0.1, -0.7, 1e-60, -1e-60, -1e300})
    for (const double end : {0.1, 0.7, -0.1, -0.7, 1e-60, -1e-60, 1e300}) {
      INFO(start << " " << end);
      CHECK(machine.compare(tensorOf(x), nullptr, {{start, end}}) == "");
    }
}

TEST_CASE("Blocks without a finite element weigh nothing") {
  const Values x = planted(normal(8 * kBlock + 76, 5), {kNaN, kInf, 0.0f}, 30000);
  Values previous = x;
  for (std::size_t i = 0; i < previous.size(); i += 5) previous[i] += 0.5f;
  Values hollow = x;  // at the beginning and in the middle
  std::fill_n(hollow.begin(), kBlock, kNaN);
  std::fill_n(hollow.begin() + 3 * kBlock, kBlock, kInf);
  const Tensor p = tensorOf(previous, {1, 3, (8 * kBlock + 76) / 3});
  for (const ThreadOrder order : kOrders) {
    Machine machine(order);
    CHECK(machine.compare(tensorOf(x, p.shape()), &p, {{-1, 6}}) == "");
    CHECK(machine.compare(tensorOf(hollow, p.shape()), &p, {{-1, 6}}) == "");
  }
}

TEST_CASE("Many blocks are added up in rounds") {
  const Values x = planted(normal(140 * kBlock + 1, 0.3f), {kNaN, -kInf}, 300000);
  Machine machine(ThreadOrder::kBackward);
  CHECK(machine.compare(tensorOf(x), nullptr, {}) == "");
}

TEST_CASE("A device takes float32 only, and what it is compared with lies there too") {
  Machine machine(ThreadOrder::kForward);
  const Tensor host = tensorOf(normal(10)), there = machine.onDevice(host);
  CHECK(machine.context().observe(machine.onDevice(host.cast(DType::Float64)), {}) == std::nullopt);
  CHECK(machine.context().observe(there, {.previous = &host}) == std::nullopt);
  const auto taken = machine.context().observed();
  REQUIRE(taken.ok());
  CHECK(taken->empty());
}

namespace {

/// Tensors of all sorts that are noted, some at once, and what the host says of them.
class Batches {
 public:
  explicit Batches(ThreadOrder order) : m_machine(order), m_random(static_cast<std::uint64_t>(order) + 1) {}

  void noteOne() {
    static const Shape shapes[] = {{7},          {1},        {3, 5},         {16384},    {40000},   {2, 0, 3},
                                   {100, 3, 60}, {2, 20000}, {3, 64, 7, 13}, {1, 30000}, {17, 300}, {0}};
    const Shape& shape = shapes[m_random() % std::size(shapes)];
    const auto sort = m_random() % 6;
    const Tensor x = tensorOf(some(shape.elements()), shape),
                 previous = tensorOf(some(shape.elements()), shape);
    ObservationWish wish{.previous = sort % 2 ? &previous : nullptr};
    if (sort > 2) wish.range = {-0.5 * static_cast<double>(sort), 1};
    m_expected.push_back(numbersOf(observeTensor(x, wish)));
    m_there.push_back(m_machine.onDevice(x, 1));
    m_there.push_back(m_machine.onDevice(previous));
    if (wish.previous) wish.previous = &m_there.back();
    CHECK(m_machine.context().observe(m_there[m_there.size() - 2], wish) == m_expected.size() - 1);
  }
  /// What was noted is then overwritten.
  void start() {
    m_machine.context().startObserving();
    for (const Tensor& tensor : m_there)
      m_machine.context().upload(tensorOf(Values(static_cast<std::size_t>(tensor.elements()), 7)), tensor);
  }
  void compare() {
    const auto taken = m_machine.context().observed();
    REQUIRE(taken.ok());
    REQUIRE(taken->size() == m_expected.size());
    for (std::size_t i = 0; i < m_expected.size(); ++i) {
      INFO(i);
      CHECK(difference(numbersOf((*taken)[i]), m_expected[i]) == "");
    }
    m_expected.clear(), m_there.clear();
  }

 private:
  Values some(std::int64_t count) {
    static const Values pool = planted(normal(70000), {kNaN, kInf, 0.0f}, 9000);
    const auto first = pool.begin() + static_cast<std::ptrdiff_t>(m_random() % 30000);
    return {first, first + count};
  }

  Machine m_machine;
  std::mt19937_64 m_random;
  std::vector<Tensor> m_there;
  std::vector<Numbers> m_expected;
};

}  // namespace

TEST_CASE("Tensors of all sorts are taken at once, and keep their numbers") {
  for (const ThreadOrder order : kOrders) {
    INFO("order " << static_cast<int>(order));
    Batches batches(order);
    for (const int tensors : {12, 0, 30, 5})
      for (const int starts : {0, 1, 3}) {  // before the answers are asked for, with more tensors each time
        for (int start = 0; start < starts; ++start) {
          for (int i = 0; i < tensors << start; ++i) batches.noteOne();
          batches.start();
        }
        for (int i = 0; i < tensors / 2; ++i) batches.noteOne();
        batches.compare();
      }
  }
}

TEST_CASE("Answers stay while there come more than there is place for") {
  Machine machine(ThreadOrder::kForward);
  DeviceContext& context = machine.context();
  const Tensor there = context.zeros(DType::Float32, {9});
  for (const int tensors : {5, 1500}) {
    std::vector<Numbers> expected;
    for (int i = 0; i < tensors; ++i) {
      const Tensor host = tensorOf(normal(1 + i % 9, static_cast<float>(i))),
                   part = there.part(0, host.shape());
      context.upload(host, part);
      CHECK(context.observe(part, {.previous = i % 2 ? &part : nullptr}) == expected.size());
      expected.push_back(numbersOf(observeTensor(host, {.previous = i % 2 ? &host : nullptr})));
      context.startObserving();
    }
    const auto taken = context.observed();
    REQUIRE(taken.ok());
    REQUIRE(taken->size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(difference(numbersOf((*taken)[i]), expected[i]) == "");
  }
}
