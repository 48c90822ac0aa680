// Which tensors a watchpoint looks at: `tensors=NAME|GLOB`, `tensor=NAME`.
#include <catch2/catch.hpp>
#include <set>

#include "tests/watchpoints/healthy_source.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::healthySource;
using msdbg::test::only;

namespace {

Watchpoint parsed(const std::string& text) {
  auto watchpoint = parseWatchpoint(text);
  if (!watchpoint) FAIL(watchpoint.error().message());
  return std::move(*watchpoint);
}

CheckReport run(FakeSource& source, const std::string& text) { return check(source, {parsed(text)}, {}); }

std::set<std::string> hitTensors(FakeSource& source, const std::string& text) {
  std::set<std::string> names;
  for (const Hit& hit : run(source, text).hits) names.insert(source.graph().tensor(hit.tensor).fullName());
  return names;
}

std::string refusal(FakeSource& source, const std::string& text, ErrorCode code) {
  const Status fit = namesFit(parsed(text), source.graph());
  REQUIRE_FALSE(fit.ok());
  CHECK(fit.error().code() == code);
  return fit.error().message();
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string fullName(FakeSource& source, const std::string& name) {
  return source.graph().tensor(source.id(name)).fullName();
}

}  // namespace

TEST_CASE("A list of names and globs says which tensors are looked at") {
  FakeSource source = healthySource(1, 2);
  const std::string loose = "tensor_all_zero:zero_percentage_ge=0";  // every tensor hits
  const std::set<std::string> all = hitTensors(source, loose);
  const std::set<std::string> some =
      hitTensors(source, loose + ",tensors=network/fc/Relu-op1|label|network/fc/Gemm*");
  CHECK(all.size() > some.size());
  CHECK(some.contains(fullName(source, "network/fc/Relu-op1")));
  for (const std::string& name : some) CHECK(all.contains(name));
  CHECK(hitTensors(source, loose + ",tensors=fc/Relu-op1") ==
        std::set<std::string>{fullName(source, "network/fc/Relu-op1")});  // a unique end
}

TEST_CASE("A parameter's name means its gradients and its next value to who looks at these") {
  FakeSource source = healthySource(1, 2);
  const std::string weight = "network/fc/weight";
  const std::set<std::string> gradients = {fullName(source, "local_grad(" + weight + ")"),
                                           fullName(source, "grad(" + weight + ")")};
  CHECK(hitTensors(source, "gradient_vanishing:mean_lt=1e9,tensors=fc/weight") == gradients);
  CHECK(hitTensors(source, "gradient_vanishing:mean_lt=1e9,tensors=*fc/weight*") == gradients);
  CHECK(hitTensors(source, "weight_change_too_large:abs_mean_update_ratio_gt=0,tensors=fc/weight") ==
        std::set<std::string>{fullName(source, "next(" + weight + ")")});
}

TEST_CASE("A name that no tensor has, an ambiguous one and one of another kind are refused") {
  FakeSource source = healthySource(1, 2);
  const std::string vanishing = "gradient_vanishing:mean_lt=1,tensors=";
  CHECK(mentions(refusal(source, vanishing + "fc/wieght", ErrorCode::kNotFound), "did you mean fc/weight?"));
  CHECK(mentions(refusal(source, vanishing + "fc/weight|conv*", ErrorCode::kNotFound),
                 "tensors=conv*: no tensor fits it"));
  CHECK(mentions(refusal(source, vanishing + "network/ReduceMean-op1", ErrorCode::kUsage),
                 "no tensor of these is a gradient or has one"));
  CHECK(mentions(refusal(source, "dead_relu:tensors=fc/weight", ErrorCode::kUsage),
                 "no tensor of these is the output of an activation function"));
  CHECK(mentions(refusal(source, "loss_diverging:tensor=lots", ErrorCode::kNotFound),
                 "no tensor is called so"));
  CHECK(namesFit(parsed("dead_relu:tensors=fc/Relu-op1"), source.graph()).ok());
  CHECK(namesFit(parsed("tensor_overflow"), source.graph()).ok());

  const CheckReport report = run(source, vanishing + "nothing");  // who did not ask is told in the report
  CHECK(report.evaluated == 0);
  REQUIRE(report.notEvaluable.size() == 1);
  CHECK(report.notEvaluable[0].reason == "no_tensor");
}

TEST_CASE("Conditions of the loss follow any number that is named") {
  FakeSource source = healthySource(1, 12);
  const std::string rising = "network/fc/Relu-op1";
  for (int k = 0; k < 12; ++k) {
    source.row(0, k, source.id("network/ReduceMean-op1")).values.mean = 12 - k;
    source.row(0, k, source.id(rising)).values.mean = 1 + 9 * k;
  }
  CHECK(run(source, "loss_diverging").hits.empty());
  CHECK(only(run(source, "loss_diverging:tensor=" + rising).hits).actual == 100);
  const CheckReport report = run(source, "loss_not_decreasing:num_steps=10,tensor=" + rising);
  CHECK(only(report.hints).tensor == source.id(rising));
  CHECK(mentions(report.hints[0].detail, rising + " went from"));
}
