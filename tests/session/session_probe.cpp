// session_probe ENDING[@RANK] [--steps N]: trains a little on any number of ranks and then, in iteration 3,
// the named rank (all without) ends as told: ok, throw, throwlogic, throwrange, throwalloc, throwint,
// terminate, caught, exit0, exit3, late, _exit0, _exit5, return3, segv, fpe, abort, kill, overflow, hang,
// early, lagsearly (the same, after the others had to wait for its second step); badlabel and badshape (a
// batch that does not fit), caughtstep (the same, caught, and nothing more is trained), goeson (caught, and
// trained on), nofile (data that is not there, before the first iteration), secondtrainer (another graph,
// trained for 4 iterations from 0), countson (the same, from where the first stopped), inturn (a step of each
// in turn), twice (a second Session), sameinput (a mistake in the graph), killfirst (before the graph is
// complete).
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "dump/session/msdbg.h"

namespace {

using namespace msdbg;

constexpr std::int64_t kWhen = 3;

int overflow(volatile int* previous) {
  volatile int here[1024] = {*previous};
  if (here[0] == 0) return 0;  // never: it only keeps the compiler from seeing that nothing ends this
  return overflow(here) + here[0];
}

void endAs(const std::string& how) {
  if (how == "throw" || how == "caught") throw std::runtime_error("the data is gone");
  if (how == "throwlogic") throw std::logic_error("a mistake in the program");
  if (how == "throwrange") (void)std::vector<int>().at(3);
  if (how == "throwalloc") throw std::bad_alloc();
  if (how == "throwint") throw 42;
  if (how == "terminate") std::terminate();
  if (how == "exit0") exit(0);
  if (how == "exit3") exit(3);
  if (how == "_exit0") _exit(0);
  if (how == "_exit5") _exit(5);
  if (how == "fpe") raise(SIGFPE);
  if (how == "segv") raise(SIGSEGV);
  if (how == "abort") abort();
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "hang") kill(getpid(), SIGSTOP);
  if (how == "pause") pause();
  if (how == "overflow") {
    volatile int start = 1;
    std::cout << overflow(&start);
  }
}

constexpr std::int64_t kNoSuchClass = 12;

/// The batch with a label that is no class, or with images of another size.
Batch wrong(const Batch& batch, const std::string& how) {
  Batch changed = batch;
  for (auto& [name, tensor] : changed.tensors) {
    if (how == "badshape" && name == "x") tensor = Tensor::zeros(tensor.dtype(), {8, 1, 9, 9});
    if (how != "badshape" && name == "label") {
      tensor = tensor.clone();
      tensor.data<std::int64_t>()[3] = kNoSuchClass;
    }
  }
  return changed;
}

/// A copy of the loader's batch with other pixels and labels: the program's own, though the loader said what
/// it had made them from.
Batch madeOver(const Batch& batch) {
  Batch changed = batch;
  for (auto& [name, tensor] : changed.tensors) {
    tensor = tensor.clone();
    if (name == "x")
      for (float& pixel : tensor.data<float>()) pixel = 2 * pixel - 1;
    else
      for (std::int64_t& label : tensor.data<std::int64_t>()) label = 9 - label;
  }
  return changed;
}

bool givesWrongBatch(const std::string& how) {
  return how == "badlabel" || how == "badshape" || how == "caughtstep" || how == "goeson";
}

/// Whether training is to go on.
bool stepWrongly(Trainer& trainer, const Batch& batch, const std::string& how) {
  try {
    trainer.step(wrong(batch, how));
  } catch (const std::runtime_error&) {
    if (how == "badlabel" || how == "badshape") throw;
  }
  return how == "goeson";
}

/// Another model of the same data, trained after the first one or in turn with it.
void trainAnother(Session& run, Trainer& first, const DataLoader& loader, const std::string& how) {
  Graph g("other");
  auto x = g.input("x", {8, 1, 8, 8}), label = g.input("label", {8}, DType::Int64);
  Trainer second(run, g, softmaxCrossEntropy(linear(relu(flatten(x)), {.out = 10}), label), Sgd{.lr = 0.1});
  if (how == "countson") {
    TrainingState state = second.state();
    state.iteration = first.iteration();
    second.restore(state);
  }
  for (const Batch& batch : run.shard(loader, 4, second.iteration())) {
    if (how == "inturn") first.step(batch);
    second.step(batch);
  }
}

int train(int argc, char** argv) {
  std::string how = argc > 1 ? argv[1] : "ok";
  const std::size_t at = how.find('@');
  const int rank = at == std::string::npos ? -1 : std::stoi(how.substr(at + 1));
  how = how.substr(0, at);

  Session run(argc, argv);
  if (how == "twice") Session again(argc, argv);
  Graph g("probe");
  auto x = g.input("x", {8, 1, 8, 8});
  if (how == "sameinput") g.input("x", {8, 1, 8, 8});
  if (how == "killfirst") kill(getpid(), SIGKILL);
  auto label = g.input("label", {8}, DType::Int64);
  auto loss = softmaxCrossEntropy(linear(flatten(x), {.out = 10}), label);
  Trainer trainer(run, g, loss, Sgd{.lr = 0.1});
  LoaderOptions data;
  data.image = {1, 8, 8};
  data.batch = 8;
  const auto loader = makeLoader(how == "nofile" ? "mnist:/no/such/folder" : "digits", data);
  if (!loader.ok()) throw std::runtime_error(loader.error().message());
  const bool mine = rank < 0 || run.rank().value == rank;
  for (const Batch& batch : run.shard(*loader.value(), run.steps(6))) {
    if (mine && batch.iteration.value == kWhen) endAs(how);
    if (mine && how == "late" && batch.iteration.value == kWhen) usleep(1500000);  // a segment is committed
    if (mine && how == "late" && batch.iteration.value == kWhen + 1) exit(3);
    if (mine && how == "lagsearly" && batch.iteration.value == 1) usleep(1500000);
    if (mine && how.ends_with("early") && batch.iteration.value == kWhen) return 0;
    if (mine && givesWrongBatch(how) && batch.iteration.value == kWhen &&
        trainer.iteration() == batch.iteration) {
      if (!stepWrongly(trainer, batch, how)) break;
      continue;
    }
    trainer.step(how == "madeover" && batch.iteration.value != 1 ? madeOver(batch) : batch);
    if (how == "slow") usleep(100000);
  }
  if (how == "secondtrainer" || how == "countson" || how == "inturn")
    trainAnother(run, trainer, *loader.value(), how);
  std::cout << "trained\n";
  return how == "return3" && mine ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (!how.starts_with("caught")) return train(argc, argv);
  try {
    return train(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "caught: " << error.what() << "\n";
    return 4;
  }
}
