// Several ranks: each trains on its part of the global batch, gradients are averaged, all stay equal. The
// program is the same for one rank and for many.
//
//   build/ranks                                       one rank
//   mpirun -n 2 build/ranks                           two
//   msdbg dump -n 2 -- build/ranks                    two, recorded
//   MSDBG_DUMP=run.msdbg mpirun -n 2 build/ranks      the same, started by hand
#include <msdbg/msdbg.h>

#include <iostream>

int main(int argc, char** argv) {
  msdbg::Session run(argc, argv);  // finds its rank

  msdbg::Graph g("ranks");
  constexpr std::int64_t kRows = 16;  // of one rank: the global batch is run.ranks() times as large
  auto x = g.input("x", {kRows, 1, 28, 28});
  const auto label = g.input("label", {kRows}, msdbg::DType::Int64);
  {
    const auto scope = g.scope("fc1");
    x = relu(linear(flatten(x), {.out = 64}));
  }
  {
    const auto scope = g.scope("fc2");
    x = linear(x, {.out = 10});
  }
  const auto loader = msdbg::makeLoader("digits", {.batch = kRows, .seed = run.seed()}).orThrow();
  msdbg::Trainer trainer(run, g, softmaxCrossEntropy(x, label), msdbg::Sgd{.lr = 0.05, .momentum = 0.9});
  double loss = 0;
  for (const msdbg::Batch& batch : run.shard(*loader, run.steps(100)))  // this rank's part of each
    loss = trainer.step(batch).loss;

  // Numbers of all ranks: every rank calls this and gets the same.
  const double mean = run.sum({loss})[0] / run.ranks();
  if (run.rank().value == 0)
    std::cout << run.ranks() << " rank(s), mean loss of the last batches " << mean << "\n";
}
