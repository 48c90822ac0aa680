// Sick: what is minimised is not what was meant, or the labels are not.
#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

struct Classifier {
  Graph g{"net"};
  Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value logits = built();

  void train(Session& run, Value loss, const Optimizer& optimizer = Sgd{.lr = 0.05, .momentum = 0.9},
             int count = 40) {
    Trainer t(run, g, loss, optimizer);
    for (const At at : iterations(run, count)) t.step(points(at));
  }

 private:
  Value built() {
    Value h;
    {
      const Scope s = g.scope("fc1");
      h = relu(linear(x, {.out = 24}));
    }
    const Scope s = g.scope("fc2");
    return linear(h, {.out = 4});
  }
};

void maximised(Session& run) {
  Classifier net;
  const Value loss = 0.0 - softmaxCrossEntropy(net.logits, net.label);  // WRONG
  net.train(run, loss);
}

void minusForgotten(Session& run) {
  Classifier net;
  const Value picked = reduceSum(classRows(net.label, 4) * logSoftmax(net.logits), {1}, false);
  const Value loss = reduceMean(picked, {}, false);  // WRONG
  net.train(run, loss);
}

/// The weight of the only task is zero.
void timesZero(Session& run) {
  Classifier net;
  const Value loss = softmaxCrossEntropy(net.logits, net.label) * 0.0;  // WRONG
  net.train(run, loss);
}

void softmaxTwice(Session& run) {
  Classifier net;
  const Value loss = softmaxCrossEntropy(softmax(net.logits), net.label);  // WRONG
  net.train(run, loss);
}

void reluOnLogits(Session& run) {
  Classifier net;
  const Value loss = softmaxCrossEntropy(relu(net.logits), net.label);  // WRONG
  net.train(run, loss);
}

void sigmoidOnLogits(Session& run) {
  Classifier net;
  const Value loss = softmaxCrossEntropy(sigmoid(net.logits), net.label);  // WRONG
  net.train(run, loss);
}

/// Over the batch instead of the classes: each column sums to 1.
void softmaxOverBatch(Session& run) {
  Classifier net;
  const Value probability = softmax(net.logits, 0);  // WRONG
  const Value picked = reduceSum(classRows(net.label, 4) * probability, {1}, false);
  net.train(run, 0.0 - reduceMean(log(picked + 1e-6), {}, false));
}

/// Sharp logits make probabilities of exactly 0.
void logOfZero(Session& run) {
  Classifier net;
  const Value probability = softmax(net.logits * 200.0);
  const Value logs = log(probability);  // WRONG
  const Value picked = reduceSum(classRows(net.label, 4) * logs, {1}, false);
  net.train(run, 0.0 - reduceMean(picked, {}, false));
}

/// Binary cross-entropy by hand, on a sigmoid that reaches exactly 1.
void logOfOneMinusOne(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  const Value p = sigmoid(linear(x, {.out = 1}) * 60.0), y = unsqueeze(cast(label, DType::Float32), {1});
  const Value gains = y * log(p + 1e-12);
  const Value losses = (1.0 - y) * log(1.0 - p);  // WRONG
  Trainer t(run, g, 0.0 - reduceMean(gains + losses, {}, false), Sgd{.lr = 0.01});
  for (const At at : iterations(run, 30)) t.step(points(at, {.classes = 2}));
}

/// The loader's label column is the wrong one: it is 0 in every row.
void labelsAllEqual(Session& run) {
  Classifier net;
  Trainer t(run, net.g, softmaxCrossEntropy(net.logits, net.label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    for (std::int64_t& kind : tensorOf(batch, "label").data<std::int64_t>()) kind = 0;
    t.step(batch);
  }
}

/// Counted from 1: the last class does not exist.
void labelOutOfRange(Session& run) {
  Classifier net;
  const Value loss = softmaxCrossEntropy(net.logits, net.label);  // WRONG
  Trainer t(run, net.g, loss, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    if (at.iteration == 5) tensorOf(batch, "label").data<std::int64_t>()[11] = 4;
    t.step(batch);
  }
}

/// -100, which other frameworks pass over.
void ignoredLabel(Session& run) {
  Classifier net;
  const Value loss = softmaxCrossEntropy(net.logits, net.label);  // WRONG
  Trainer t(run, net.g, loss, Sgd{.lr = 0.05});
  for (const At at : iterations(run, 40)) {
    Batch batch = points(at);
    if (at.iteration == 9) tensorOf(batch, "label").data<std::int64_t>()[2] = -100;
    t.step(batch);
  }
}

/// [16, 1] minus [16] is [16, 16]: every prediction is pulled to every target.
void broadcastTarget(Session& run) {
  Graph g("net");
  const Value x = g.input("x", {16, 4}), y = g.input("y", {16});
  const Value prediction = linear(tanh(linear(x, {.out = 24})), {.out = 1});
  const Value difference = prediction - y;  // WRONG
  Trainer t(run, g, reduceMean(difference * difference, {}, false), Adam{.lr = 5e-3});
  for (const At at : iterations(run, 60)) {
    Batch batch = curve(at);
    tensorOf(batch, "y") = tensorOf(batch, "y").reshaped({16});
    t.step(batch);
  }
}

}  // namespace

std::span<const SickCase> sickLosses() {
  // Names the sign of the loss, or that it falls without end.
  constexpr std::string_view kSign = "sign|maximi[sz]|negative|minus|below (zero|0)";
  constexpr std::string_view kLossInput = "logit|loss's input|input of the loss|loss (takes|expects|wants)";
  constexpr std::string_view kLogOfZero = "log.{0,60}(zero|\\b0\\b)|(zero|\\b0\\b).{0,60}log|input 0 is 0";
  constexpr std::string_view kRange = "out of range|outside|range|not in \\[0|label.{0,30}(4|-100)";
  static const std::vector<std::string_view> kNone, kLabels = {"*/label"};
  static const SickCase kCases[] = {
      {"loss_maximised", maximised, kSign},
      {"minus_forgotten", minusForgotten, kSign},
      {"loss_times_zero", timesZero,
       "(multipl|product|times|factor|Mul).{0,60}(zero|\\b0\\b)|(zero|\\b0\\b).{0,60}(multipl|product|times|"
       "factor)"},
      {"softmax_twice", softmaxTwice, "twice|probabilit|already|softmax of a softmax"},
      {"relu_on_logits", reluOnLogits, kLossInput},
      {"sigmoid_on_logits", sigmoidOnLogits, kLossInput},
      {"softmax_over_batch", softmaxOverBatch, "axis|batch dimension|dimension 0|over the batch"},
      {"log_of_zero", logOfZero, kLogOfZero},
      {"log_of_one_minus_one", logOfOneMinusOne, kLogOfZero},
      {"labels_all_equal", labelsAllEqual, "same|equal|constant|one (class|value)|single|every label is",
       kLabels},
      // The label is as wrong as the line that it is given to.
      {"label_out_of_range", labelOutOfRange, kRange, kLabels, 1, -1, 5},
      {"label_to_be_ignored", ignoredLabel, kRange, kLabels, 1, -1, 9},
      {"target_broadcast", broadcastTarget, "broadcast|\\[16, 16\\]"},
  };
  return kCases;
}

}  // namespace msdbg::corpus
