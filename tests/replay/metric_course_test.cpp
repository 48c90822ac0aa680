#include "replay/metric_course.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/replay/fake_run.h"
#include "tests/watchpoints/small_graph.h"

namespace msdbg::test {

using core::Iteration;

TEST_CASE("The overview of a metric names what is good of it, and since when it is NaN") {
  FakeRun run(modelGraph(), 2, 3);
  CHECK(replay::metricCourses(run).empty());
  run.said["val_loss"] = {{Iteration(4), 0.5}, {Iteration(9), 0.25}, {Iteration(14), 0.375}};
  run.said["val_acc"] = {{Iteration(4), 0.5}, {Iteration(9), 0.75}};
  run.said["bleu"] = {{Iteration(4), NAN}, {Iteration(9), 2}, {Iteration(14), 1}};
  run.said["lost_loss"] = {{Iteration(9), INFINITY}};
  std::map<std::string, std::string> texts;
  for (const replay::MetricCourse& course : replay::metricCourses(run))
    texts[course.metric.name] = course.text();
  CHECK(texts.size() == 4);
  CHECK(texts["val_loss"] == "val_loss 0.5 -> 0.375 in 3 values, lowest 0.25 in iteration 9");
  CHECK(texts["val_acc"] == "val_acc 0.5 -> 0.75 in 2 values, highest 0.75 in iteration 9");
  CHECK(texts["bleu"] ==
        "bleu nan -> 1 in 3 values, lowest 1 in iteration 14, highest 2 in iteration 9, NaN or Inf first in "
        "iteration 4");
  CHECK(texts["lost_loss"] == "lost_loss inf -> inf in 1 value, NaN or Inf first in iteration 9");
}

}  // namespace msdbg::test
