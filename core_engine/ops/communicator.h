// Communicator: what ranks say to each other, as the kernel of a collective sees it; who makes one is
// core_engine/distributed. Sums are in rank order on every rank, so results are bitwise
// equal everywhere. Waits yield the processor and give up after the watchdog time, naming the ranks that did
// not come. One thread per rank calls it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  /// output = ((x_0 + x_1) + x_2) + … element by element; float32 or float64. input and output do not alias.
  virtual Status allreduceSum(const Tensor& input, Tensor& output) = 0;
  virtual Status broadcast(std::span<std::byte> bytes, Rank root) = 0;
  virtual Status barrier() = 0;
  /// Ends all ranks at once after a fatal error of this one. Does not return for MPI.
  virtual void abort(int exitStatus) = 0;
  /// Asked about once a second while waiting too long in a collective (seconds waited so far); a non-empty
  /// answer ends the wait with that message as a kUnavailable error.
  using Watchdog = std::function<std::string(double secondsWaited)>;
  virtual void setWatchdog(Watchdog watchdog) = 0;
  /// The rank for which this one waited in vain because it had ended in good order: every rank has to come to
  /// the same collectives. nullopt: none; a watchdog ended the wait, or nothing did.
  virtual std::optional<Rank> missed() const { return std::nullopt; }
};

}  // namespace msdbg::core
