#include "app/cli/timing_text.h"

#include <catch2/catch.hpp>

namespace msdbg::test {

using replay::RecordingTimes;

namespace {

RecordingTimes times(double wall, double wait, double build, double write) {
  RecordingTimes all;
  all.wallSeconds = wall;
  all.stages = {{"build", build, 0}, {"write", write, 0}, {"wait", wait, 0}};
  return all;
}

}  // namespace

TEST_CASE("A recording that training waits for says what makes it lighter", "[cli]") {
  const core::Rank first(0), second(1);
  CHECK(app::waitAdvice({}).empty());
  CHECK(app::waitAdvice({{first, times(100, 19, 60, 10)}}).empty());
  CHECK(app::waitAdvice({{first, times(4, 3, 3, 1)}}).empty());  // a few seconds
  const std::string built = app::waitAdvice({{first, times(20, 1, 9, 1)}, {second, times(20, 8.6, 14, 2)}});
  CHECK_THAT(built,
             Catch::StartsWith("training waited 43 % of the time") && Catch::Contains("--commit-every 10"));
  const std::string written = app::waitAdvice({{first, times(20, 8, 1, 14)}});
  CHECK_THAT(written, Catch::Contains("--policy stats") && !Catch::Contains("--commit-every"));
}

}  // namespace msdbg::test
