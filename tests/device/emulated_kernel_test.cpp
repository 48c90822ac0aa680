// How the emulated device runs kernels: what real threads would do wrong is found.
#include <catch2/catch.hpp>

#include "core_engine/device/emulated/run_kernel.h"
#include "core_engine/device/kernels/group_sums.h"

using namespace msdbg::core::device;
using namespace msdbg::core::device::emulated;
using Catch::Matchers::Contains;

namespace {

struct Sums {
  const double* x;
  double* y;
};
void sumGroups(const void* parameters) {
  const Sums& p = *static_cast<const Sums*>(parameters);
  const double sum = foldGroup(p.x[globalThread()]);
  if (laneOfGroup() == 0) p.y[globalGroup()] = sum;
}
void leaveEarly(const void*) {
  if (threadInBlock() == 5) return;
  (void)fromLaneXor(1.0, 1);
}
void barrierForSome(const void*) {
  if (threadInBlock() % 2 == 0) (void)fromLaneXor(1.0, 1);
  blockBarrier();
}
void reverse(const void* parameters) {
  MSDBG_SHARED double held[32];
  const Sums& p = *static_cast<const Sums*>(parameters);
  held[threadInBlock()] = p.x[threadInBlock()];
  blockBarrier();
  p.y[threadInBlock()] = held[31 - threadInBlock()];
}

std::string run(void (*kernel)(const void*), const LaunchShape& shape, const void* parameters,
                ThreadOrder order, bool together = true) {
  return runKernel({"test", kernel, together}, shape, parameters, order);
}

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled};

}  // namespace

TEST_CASE("Shuffles and barriers give the same in every order of threads") {
  std::vector<double> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  for (const ThreadOrder order : kOrders) {
    std::vector<double> y(4), turned(32);
    const Sums sums{x.data(), y.data()}, both{x.data(), turned.data()};
    CHECK(run(sumGroups, {2, 32}, &sums, order).empty());
    CHECK((y == std::vector<double>{120, 376, 632, 888}));
    CHECK(run(reverse, {1, 32}, &both, order).empty());
    CHECK(turned[0] == 31);
    CHECK(turned[31] == 0);
  }
}

TEST_CASE("A shuffle with a thread that has returned is found, and so is a barrier that not all reach") {
  for (const ThreadOrder order : kOrders) {
    CHECK_THAT(run(leaveEarly, {1, 32}, nullptr, order), Contains("kernel test") && Contains("has returned"));
    CHECK_THAT(run(barrierForSome, {1, 32}, nullptr, order), Contains("waits in a shuffle"));
  }
}

TEST_CASE("A kernel that is listed as one of lone threads must not have them speak") {
  CHECK_THAT(run(leaveEarly, {1, 32}, nullptr, ThreadOrder::kForward, false), Contains("it has a shuffle"));
  CHECK_THAT(run(barrierForSome, {1, 16}, nullptr, ThreadOrder::kForward, false),
             Contains("listed as a kernel"));
  CHECK_THAT(run(leaveEarly, {1, 20}, nullptr, ThreadOrder::kForward), Contains("no multiple of a group"));
}
