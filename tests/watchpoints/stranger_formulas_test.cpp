// Formulas that strangers wrote wrongly and that trained on in silence. Each with the healthy formula that
// looks like it.
#include <catch2/catch.hpp>

#include "core_engine/train/freeze.h"
#include "tests/watchpoints/said.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using namespace msdbg::test;
using Catch::Matchers::Contains;

namespace {

/// Of a program that is traced once and recorded so often, as if nothing moved.
std::string saidOften(const char* condition, const Program& program, const Named& inputs, int iterations,
                      const std::function<void(FakeSource&)>& change = {}) {
  const Trace trace = traceTraining(program, inputs);
  FakeSource often(trace.source->graph(), 1, iterations);
  for (const TensorInfo& info : often.graph().tensors())
    for (int k = 0; k < iterations; ++k)
      if (const auto value = trace.source->value(Rank(0), Iteration(0), info.id); value.ok())
        often.record(Rank(0), Iteration(k), info.id, *value);
  if (change) change(often);
  return said(condition, often);
}

Tensor bits(const Shape& shape, int every) {
  Tensor tensor(DType::Float32, shape);
  int next = 0;
  for (float& each : tensor.data<float>()) each = next++ % every == 0 ? 1.f : 0.f;
  return tensor;
}

Value dense(Graph& g, const char* name, Value x, std::int64_t out) {
  const Scope scope = g.scope(name);
  return linear(x, {.out = out});
}

}  // namespace

TEST_CASE("multiplied_mask tells a mask that softmax does not see from one that is added or taken up again") {
  const auto saidOf = [](Value (*weights)(Value scores, Value mask), int every = 3) {
    return saidOften(
        "multiplied_mask",
        [&](Graph& g) {
          const Value x = g.input("x", {4, 6}), mask = g.input("mask", {4, 4});
          const Value h = dense(g, "fc", x, 4);
          const Value seen = matmul(weights(h, mask), h);
          return meanSquaredError(seen, mask);
        },
        {{"network/x", waves({4, 6})}, {"network/mask", bits({4, 4}, every)}}, 3);
  };
  CHECK_THAT(saidOf([](Value scores, Value mask) { return softmax(scores * mask); }),
             Contains("multiplied by network/mask") && Contains("exp(0)"));
  CHECK_THAT(saidOf([](Value scores, Value mask) { return softmax(scores) * mask; }),
             Contains("no longer sum to 1"));
  const auto added = [](Value scores, Value mask) { return softmax(scores + (1 - mask) * -1e9); };
  CHECK(saidOf(added).empty());
  CHECK(saidOf([](Value scores, Value mask) { return softmax(scores + (1 - mask) * -1e9) * mask; }).empty());
  const auto renormalised = [](Value scores, Value mask) {
    const Value weights = softmax(scores * mask) * mask;
    return weights / (reduceSum(weights, {1}, true) + 1e-9);
  };
  CHECK(saidOf(renormalised).empty());
  CHECK(saidOf([](Value scores, Value mask) { return softmax(scores * mask); }, 1).empty());  // all are kept
  CHECK(saidOf([](Value scores, Value mask) { return softmax(scores * (mask + 0.5)); }).empty());
}

TEST_CASE("batch_content follows an input that is computed with to where nothing reads it") {
  const auto saidOf = [](bool used) {
    return said("batch_content",
                [&](Graph& g) {
                  const Value x = g.input("x", {16, 6}), time = g.input("time", {16, 6});
                  const Value wave = sin(time * 2.0);
                  return meanSquaredError(dense(g, "fc", concat({x, used ? wave : x}, 1), 6), x);
                },
                {{"network/x", waves({16, 6})}, {"network/time", waves({16, 6})}});
  };
  CHECK_THAT(saidOf(false), Contains("all that is computed of network/time ends at network/Sin-op1"));
  CHECK(saidOf(true).empty());
}

TEST_CASE("batch_content leaves alone what only measures a prediction") {
  CHECK(said("batch_content",
             [](Graph& g) {
               const Value x = g.input("x", {16, 6}), truth = g.input("truth", {16, 6});
               const Value out = dense(g, "fc", x, 6);
               reduceMean(abs(out - truth), {}, false);
               return meanSquaredError(out, x);
             },
             {{"network/x", waves({16, 6})}, {"network/truth", waves({16, 6}, 0.5)}})
            .empty());
}

TEST_CASE("batch_content asks a binary cross-entropy for both answers") {
  const auto saidOf = [](int every, bool twice) {
    return saidOften(
        "batch_content",
        [&](Graph& g) {
          const Value x = g.input("x", {16, 6}), y = g.input("y", {16, 1});
          const Value loss = binaryCrossEntropyWithLogits(dense(g, "fc", x, 1), y);
          if (!twice) return loss;
          const Value no = g.input("no", {16, 1});  // of what was made up, in a GAN
          return loss + binaryCrossEntropyWithLogits(dense(g, "d", x, 1), no);
        },
        twice ? Named{{"network/x", waves({16, 6})},
                      {"network/y", bits({16, 1}, every)},
                      {"network/no", waves({16, 1}, 0)}}
              : Named{{"network/x", waves({16, 6})}, {"network/y", bits({16, 1}, every)}},
        3);
  };
  CHECK_THAT(saidOf(1, false), Contains("every one is 1"));
  CHECK(saidOf(3, false).empty());
  CHECK(saidOf(1, true).empty());
}

TEST_CASE("tensor_all_zero tells of uses that always cancel, and not of those that did once") {
  const auto saidOf = [](bool moves) {
    return saidOften(
        "tensor_all_zero",
        [](Graph& g) {
          const Value x = g.input("x", {16, 6}), gain = g.input("gain", {16, 1});
          const Value w = g.parameter("w", {6, 1}, Init::xavierUniform());
          const Value ratio = exp(matmul(x, w) - matmul(x, w));
          return reduceMean(ratio * gain, {}, false) + meanSquaredError(dense(g, "v", x, 1), gain);
        },
        {{"network/x", waves({16, 6})}, {"network/gain", waves({16, 1}, 0.3)}}, 12,
        [&](FakeSource& source) {
          if (moves) source.record(Rank(0), Iteration(5), source.id("grad(network/w)"), waves({6, 1}));
        });
  };
  CHECK_THAT(saidOf(false), Contains("cancel each other to the last bit") && Contains("network/w"));
  CHECK(saidOf(true).empty());
}

TEST_CASE("loss_input hints at a mean that is squared, past factors too") {
  const auto saidOf = [](bool squaredFirst) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {16, 6});
                  const Value residual = (dense(g, "fc", x, 1) + 2.0 * reduceSum(x, {1}, true)) / 3.0;
                  const Value mean = reduceMean(residual, {}, false);
                  return squaredFirst ? reduceMean(residual * residual, {}, false) : mean * mean;
                },
                {{"network/x", waves({16, 6})}});
  };
  CHECK_THAT(saidOf(false), Contains("the mean of 16 differences is squared"));
  CHECK(saidOf(true).empty());
}

TEST_CASE("loss_input hints at a teacher that learns") {
  struct Distillation {
    bool frozen = false, stopped = false, labelled = false, shared = false;
  };
  const auto saidOf = [](Distillation how) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {16, 6}), label = g.input("label", {16}, DType::Int64);
                  const Value teacher = dense(g, "teacher", x, 4);
                  if (how.frozen) freeze(g, "network/teacher/*");
                  const Value student = how.shared ? dense(g, "fc", teacher, 4) : dense(g, "fc", x, 4);
                  const Value wanted = softmax(how.stopped ? stopGradient(teacher) : teacher);
                  const Value apart =
                      logSoftmax(how.stopped ? stopGradient(teacher) : teacher) - logSoftmax(student);
                  const Value divergence = reduceMean(reduceSum(wanted * apart, {1}, false), {}, false);
                  const Value loss = divergence + softmaxCrossEntropy(student, label);
                  return how.labelled ? loss + softmaxCrossEntropy(teacher, label) : loss;
                },
                {{"network/x", waves({16, 6})}, {"network/label", counted({16}, 4)}});
  };
  CHECK_THAT(saidOf({}), Contains("stands as the target") && Contains("network/teacher/"));
  CHECK(saidOf({.frozen = true}).empty());
  CHECK(saidOf({.stopped = true}).empty());
  CHECK(saidOf({.labelled = true}).empty());  // they learn from each other
  CHECK(saidOf({.shared = true}).empty());
}

TEST_CASE("loss_input hints at a gradient through the largest next value") {
  const auto saidOf = [](bool stopped) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value state = g.input("state", {16, 6}), next = g.input("next", {16, 6});
                  const Value reward = g.input("reward", {16}),
                              action = g.input("action", {16}, DType::Int64);
                  const Value w = g.parameter("w", {6, 3}, Init::xavierUniform());
                  const Value q = reduceSum(matmul(state, w) * oneHot(action, 3), {1}, false);
                  const Value best = reduceMax(matmul(next, w), {1}, false) * 0.9;
                  const Value error = q - (reward + (stopped ? stopGradient(best) : best));
                  return reduceMean(error * error, {}, false);
                },
                {{"network/state", waves({16, 6})},
                 {"network/next", waves({16, 6}, 0.7)},
                 {"network/reward", waves({16})},
                 {"network/action", counted({16}, 3)}});
  };
  CHECK_THAT(saidOf(false), Contains("the largest value that it takes is part of a target"));
  CHECK(saidOf(true).empty());
}

TEST_CASE("target_leak sees that each step of a decoder is given what it is to predict") {
  const auto saidOf = [](bool before, bool backwards = false) {
    return said(
        "target_leak",
        [&](Graph& g) {
          const Value past = g.input("past", {16, 6}), future = g.input("future", {16, 4});
          const Value context = dense(g, "encoder", past, 4);
          const Value given = before ? concat({slice(past, 1, 5, 6), slice(future, 1, 0, 3)}, 1) : future;
          std::vector<Value> out;
          for (std::int64_t i = 0; i < 4; ++i) {
            const std::string name = "step" + std::to_string(i);
            const std::int64_t read = backwards ? 3 - i : i;
            out.push_back(dense(g, name.c_str(), concat({context, slice(given, 1, read, read + 1)}, 1), 1));
          }
          return meanSquaredError(concat(std::span<const Value>(out), 1), future);
        },
        {{"network/past", waves({16, 6})}, {"network/future", waves({16, 4})}});
  };
  CHECK_THAT(saidOf(false), Contains("step i of network/future goes into prediction i"));
  CHECK(saidOf(true).empty());
  CHECK(saidOf(false, true).empty());
}

TEST_CASE("mask_reversed finds weights that are 0 wherever the target says something") {
  const auto saidOf = [](Value (*weigh)(Value present), bool again = false) {
    const Tensor boxes = bits({16, 4}, 3);
    return saidOften(
        "mask_reversed",
        [&](Graph& g) {
          const Value x = g.input("x", {16, 6}), present = g.input("present", {16, 4}),
                      box = g.input("box", {16, 4});
          const Value out = dense(g, "fc", x, 4);
          const Value error = abs(out - box);
          const Value loss = reduceMean(weigh(present) * error, {}, false);
          return again ? loss + reduceMean(present * abs(out - box), {}, false) : loss;
        },
        {{"network/x", waves({16, 6})}, {"network/present", boxes}, {"network/box", boxes}}, 3);
  };
  CHECK_THAT(saidOf([](Value present) { return 1.0 - present; }),
             Contains("is 0 wherever network/box is not"));
  CHECK(saidOf([](Value present) { return present * 1.0; }).empty());
  CHECK(saidOf([](Value present) { return present * 5.0 + (1.0 - present); }).empty());
  CHECK(saidOf([](Value present) { return 1.0 - present; }, true).empty());  // YOLO's two terms
}

TEST_CASE("batch_content tells of data around a number that next to nothing tells apart") {
  const auto saidOf = [](double range, bool learns = false) {
    Tensor x = waves({16, 6}, range);
    for (float& each : x.data<float>()) each -= 1;
    return saidOften(
        "batch_content",
        [](Graph& g) {
          const Value in = g.input("x", {16, 6}), y = g.input("y", {16, 1});
          return meanSquaredError(dense(g, "fc", in, 1), y);
        },
        {{"network/x", x}, {"network/y", waves({16, 1})}}, 12,
        [&](FakeSource& source) {
          for (const TensorInfo& info : source.graph().tensors())
            for (int k = 0; learns && k < 12; ++k)
              if (info.role == TensorRole::kLoss) source.row(0, k, info.id).values.mean = std::pow(0.5, k);
        });
  };
  CHECK_THAT(saidOf(0.004), Contains("next to nothing tells one sample from another"));
  CHECK(saidOf(0.5).empty());
  CHECK(saidOf(0.004, true).empty());
  CHECK(saidOf(0).empty());  // a constant is one on purpose
}

TEST_CASE("batch_content hints at a part of a sum that its factor leaves nothing of") {
  const auto saidOf = [](double kept, bool byNumber = false) {
    return saidOften(
        "batch_content",
        [&](Graph& g) {
          const Value clean = g.input("clean", {16, 6}), noise = g.input("noise", {16, 6}),
                      share = g.input("share", {16, 1});
          const Value small = byNumber ? clean * kept : clean * share;
          return meanSquaredError(dense(g, "fc", small + noise * (1 - share), 6), noise);
        },
        {{"network/clean", waves({16, 6})},
         {"network/noise", waves({16, 6}, 0.9)},
         {"network/share", waves({16, 1}, kept)}},
        3);
  };
  CHECK_THAT(saidOf(1e-4), Contains("next to nothing is left to learn from"));
  CHECK(saidOf(0.1).empty());
  CHECK(saidOf(1e-4, true).empty());  // a little noise that is meant
}

TEST_CASE("loss_input hints at a logarithm of the scale with the sign of the scale itself") {
  const auto saidOf = [](bool flow, double sign) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {16, 6});
                  const Value s = tanh(dense(g, "s", x, 6)), t = dense(g, "t", x, 6);
                  const Value z = flow ? x * exp(s) + t : (x - t) / exp(s);
                  const Value each = reduceSum(z * z * 0.5, {1}, false) + reduceSum(s, {1}, false) * sign;
                  return reduceMean(each, {}, false);
                },
                {{"network/x", waves({16, 6})}});
  };
  CHECK_THAT(saidOf(true, 1), Contains("the loss has no least value"));
  CHECK(saidOf(true, -1).empty());
  CHECK_THAT(saidOf(false, -1), Contains("divided by its exponential"));
  CHECK(saidOf(false, 1).empty());
}

TEST_CASE("loss_input hints at two views of one network that nothing tells apart") {
  const auto saidOf = [](bool stopped, bool others = false) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {16, 6}), y = g.input("y", {16, 6});
                  const Value w = g.parameter("w", {6, 4}, Init::xavierUniform());
                  const auto unit = [](Value z) { return z / sqrt(reduceSum(z * z, {1}, true) + 1e-6); };
                  const Value z = matmul(y, w), p = dense(g, "predictor", matmul(x, w), 4);
                  const Value cosine = reduceSum(unit(p) * unit(stopped ? stopGradient(z) : z), {1}, false);
                  const Value loss = -reduceMean(cosine, {}, false);
                  return others ? loss + meanSquaredError(p, stopGradient(z)) : loss;
                },
                {{"network/x", waves({16, 6})}, {"network/y", waves({16, 6}, 0.7)}});
  };
  CHECK_THAT(saidOf(false), Contains("it is nothing but the cosine of"));
  CHECK(saidOf(true).empty());
  CHECK(saidOf(false, true).empty());
}

TEST_CASE("loss_input walks a sum once, however many ways lead through it") {
  CHECK(said("loss_input",
             [](Graph& g) {
               const Value x = g.input("x", {16, 6});
               Value loss = reduceMean(dense(g, "fc", x, 1) * 1e-12, {}, false);
               for (int doubled = 0; doubled < 44; ++doubled) loss = loss + loss;  // 2 ** 44 ways
               return loss;
             },
             {{"network/x", waves({16, 6})}})
            .empty());
}

TEST_CASE(
    "weight_change_too_small follows a rate that rises to the end, one update of several iterations too") {
  const auto saidOf = [](int together, double from, double to) {
    return saidOften(
        "weight_change_too_small",
        [](Graph& g) {
          const Value x = g.input("x", {16, 6}), y = g.input("y", {16, 1});
          return meanSquaredError(dense(g, "fc", x, 1), y);
        },
        {{"network/x", waves({16, 6})}, {"network/y", waves({16, 1})}}, 80,
        [&](FakeSource& source) {
          for (int k = 0; k < 80; ++k) {
            Tensor rate(DType::Float32, {});
            rate.data<float>()[0] = static_cast<float>(from + (to - from) * (k / together * together) / 79);
            source.record(Rank(0), Iteration(k), source.id("optimizer/learning_rate"), rate);
            for (const TensorInfo& info : source.graph().tensors())
              if (info.updateOf.valid() && info.shape.rank() > 0)
                source.row(0, k, info.id).change =
                    ChangeStatistics{.meanAbsChange = 0.01, .meanAbsPrevious = 1};
          }
        });
  };
  CHECK_THAT(saidOf(1, 1e-5, 1e-2), Contains("the learning rate still rises when the run ends"));
  CHECK_THAT(saidOf(8, 1e-5, 1e-2), Contains("the learning rate still rises when the run ends"));
  CHECK(saidOf(40, 1e-5, 1e-2).empty());  // two levels are no warm-up
  CHECK(saidOf(8, 1e-2, 1e-5).find("still rises") == std::string::npos);
}

TEST_CASE("softmax_axis sees probabilities of one axis compared with those of another") {
  const auto saidOf = [](std::int64_t axis, bool divergence) {
    return said("softmax_axis",
                [&](Graph& g) {
                  const Value x = g.input("x", {20, 6}), relevance = g.input("relevance", {4, 5, 10});
                  const Value scores = reshape(dense(g, "fc", x, 10), {4, 5, 10});
                  const Value logs = logSoftmax(scores, axis);
                  const Value apart = divergence ? logSoftmax(relevance) - logs : -logs;
                  return reduceMean(reduceSum(softmax(relevance) * apart, {2}, false), {}, false);
                },
                {{"network/x", waves({20, 6})}, {"network/relevance", waves({4, 5, 10}, 2)}});
  };
  for (const bool divergence : {false, true}) {
    CHECK_THAT(saidOf(1, divergence), Contains("the two are distributions of different things"));
    CHECK(saidOf(2, divergence).empty());
    CHECK(saidOf(-1, divergence).empty());
  }
}

TEST_CASE("activation_exploding says which weight multiplies, and what would keep the size") {
  const auto saidOf = [](double deviation) {
    return said("activation_exploding",
                [&](Graph& g) {
                  Value h = g.input("x", {16, 64});
                  const Value w = g.parameter("w", {64, 64}, Init::normal(deviation));
                  for (int step = 0; step < 8; ++step) h = matmul(h, w);
                  return reduceMean(h * h, {}, false);
                },
                {{"network/x", waves({16, 64})}});
  };
  CHECK_THAT(saidOf(1), Contains("network/w has a standard deviation of") && Contains("0.125 would keep it"));
  CHECK(saidOf(0.125).empty());
}

TEST_CASE("right_answer follows the probability that the loss is to make large") {
  const auto saidOf = [](double last, double lastLoss) {
    return saidOften(
        "right_answer",
        [](Graph& g) {
          const Value x = g.input("x", {16, 6}), y = g.input("y", {16, 1});
          const Value p = sigmoid(dense(g, "fc", x, 1));
          const Value right = p * y + (1.0 - p) * (1.0 - y);
          return -reduceMean(right * right * log(right + 1e-7), {}, false);
        },
        {{"network/x", waves({16, 6})}, {"network/y", bits({16, 1}, 3)}}, 40,
        [&](FakeSource& source) {
          for (int k = 0; k < 40; ++k) {
            const double along = k / 39.0, noise = k % 2 == 0 ? 0.01 : 0;
            source.row(0, k, source.id("network/Add-op1")).values.mean = 0.5 + (last - 0.5) * along + noise;
            for (const TensorInfo& info : source.graph().tensors())
              if (info.role == TensorRole::kLoss)
                source.row(0, k, info.id).values.mean = 0.3 + (lastLoss - 0.3) * along + noise;
          }
        });
  };
  CHECK_THAT(saidOf(0.2, 0.05), Contains("it is the probability that the right answer is given"));
  CHECK(saidOf(0.9, 0.05).empty());
  CHECK(saidOf(0.48, 0.05).empty());
  CHECK_THAT(saidOf(0.55, -0.03), Contains("and yet the loss has fallen"));  // to 0, over the last quarter
  CHECK(saidOf(0.2, 0.6).empty());  // the loss rises: something else is wrong
}
