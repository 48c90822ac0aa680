// RunContext: what surrounds a training program: rank, seed, threads, data slice, observer. dump's Session is
// the one that can record. Used from the training thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core_engine/ops/communicator.h"
#include "core_engine/plan/pass_selection.h"
#include "core_engine/runtime/fault.h"
#include "core_engine/runtime/observer.h"
#include "core_engine/train/data.h"

namespace msdbg::core {

enum class BackendKind : std::uint8_t;  // core_engine/runtime/backend.h
class Shard;

class RunContext {
 public:
  virtual ~RunContext() = default;
  virtual Communicator& communicator() = 0;
  virtual Observer* observer() = 0;  // nullptr: not recorded
  virtual std::uint64_t seed() const = 0;
  virtual int threads() const = 0;
  virtual const std::vector<FaultSpec>& faults() const = 0;
  virtual std::int64_t steps(std::int64_t fallback) const = 0;  // --steps, else fallback
  virtual BackendKind backend() const;                    // what computes; the CPU unless one says otherwise
  virtual PlanChoices planChoices() const { return {}; }  // of time and memory; none changes a number
  /// Told by a Trainer after each step, and before it throws because of one: for whoever says how the run
  /// ended.
  virtual void stepFinished(Iteration iteration) { (void)iteration; }
  virtual void stepFailed(Iteration iteration, const std::string& what) { (void)iteration, (void)what; }
  /// Asked before each iteration; true ends training in good order (Ctrl-C, SIGTERM).
  virtual bool stopRequested() = 0;

  /// Of several Trainers the newest is observed: an observer looks at one graph, which a Trainer gives it
  /// when it is made. `trainer` is only compared.
  void setObserved(const void* trainer) { m_observed = trainer; }
  bool isObserved(const void* trainer) const { return m_observed == trainer; }

  Rank rank() { return communicator().rank(); }
  int ranks() { return communicator().size(); }
  /// This rank's batches: `steps` of them (0: --steps, else one epoch), from iteration `first` on. Ends early
  /// when stopRequested(). Throws std::runtime_error where an epoch is wanted and the loader has none.
  Shard shard(const DataLoader& loader, std::int64_t steps = 0, Iteration first = Iteration(0));
  /// Sums over the ranks, in rank order and the same on all; every rank calls it, between iterations. Throws
  /// std::runtime_error when one is lost.
  std::vector<double> sum(std::vector<double> values);

 private:
  const void* m_observed = nullptr;
};

/// A range of Batch for a for loop; batches are made when the loop asks for them.
class Shard {
 public:
  Shard(RunContext& context, const DataLoader& loader, std::int64_t steps, Iteration first)
      : m_context(context), m_loader(loader), m_first(first.value), m_end(first.value + steps) {}
  class Iterator {
   public:
    Iterator(Shard& shard, std::int64_t at);
    const Batch& operator*() const { return m_batch; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return m_at != other.m_at; }

   private:
    void load();
    Shard& m_shard;
    std::int64_t m_at;
    Batch m_batch;
  };
  Iterator begin() { return {*this, m_first}; }
  Iterator end() { return {*this, m_end}; }

 private:
  RunContext& m_context;
  const DataLoader& m_loader;
  std::int64_t m_first, m_end;
};

}  // namespace msdbg::core
