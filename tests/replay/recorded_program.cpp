#include "tests/replay/recorded_program.h"

#include <stdexcept>

#include "dump/writer/recorder.h"
#include "tests/train/plain_run.h"

namespace msdbg::test {

using namespace msdbg::core;

namespace {

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message());
}

dump::RunInfo runInfo(const std::string& state) {
  dump::RunInfo info;
  info.version = "0.1.0";
  info.command = {"train"};
  info.ranks = 1;
  info.seed = PlainRun().seedValue;
  info.end.state = state;
  return info;
}

void train(const RecordedProgram& program, Observer& observer) {
  PlainRun context;
  context.watching = &observer;
  for (const std::string& fault : program.faults) context.planted.push_back(parseFault(fault).orThrow());
  Graph graph("network");
  const Value loss = program.loss(graph);
  Trainer trainer(context, graph, loss, program.optimizer);
  for (int i = 0; i < program.iterations; ++i) {
    Batch batch;
    batch.iteration = Iteration(i);
    batch.tensors = program.batch(i);
    if (program.before) program.before(trainer, i);
    trainer.step(batch);
  }
}

}  // namespace

RecordedRun::RecordedRun(const RecordedProgram& program) {
  const auto path = m_folder / "run.msdbg";
  std::filesystem::create_directories(path);
  require(dump::writeRunInfo(path, runInfo("running")));
  dump::RecordOptions options = program.options;
  if (!options.policy) options.policy = dump::Policy::kStats;
  if (program.values) options.policy = dump::Policy::kFull;
  auto recorder = dump::Recorder::create({.run = path}, options).orThrow();
  train(program, *recorder);
  require(recorder->finish({.state = "finished"}));
  require(dump::writeRunInfo(path, runInfo("finished")));
  m_run = replay::Run::open(path).orThrow();
}

}  // namespace msdbg::test
