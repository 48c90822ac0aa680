// The observer that puts all that it sees into a FakeSource.
#pragma once

#include "core_engine/runtime/observer.h"
#include "tests/watchpoints/fake_source.h"

namespace msdbg::test {

class SourceRecorder : public core::Observer {
 public:
  SourceRecorder(FakeSource& source, core::Rank rank) : m_source(source), m_rank(rank) {}
  void graphReady(const core::Graph&) override {}
  void iterationStarted(core::Iteration) override {}
  void tensorReady(const core::TensorReady& ready) override {
    m_source.record(m_rank, ready.iteration, ready.tensor, ready.value, ready.previous);
  }
  void iterationFinished(core::Iteration, const core::Scalars&) override {}

 private:
  FakeSource& m_source;
  core::Rank m_rank;
};

}  // namespace msdbg::test
