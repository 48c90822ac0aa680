// One rank of the jobs that mpi_test.cpp starts. The first argument says what to do; failures are told on
// stderr and end with status 1.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core_engine/distributed/communicators.h"

using namespace msdbg::core;

namespace {

// Any other order of the ranks gives another sum: large values cancel, small ones are lost beside them.
template <typename T>
T valueOf(int rank, std::size_t i) {
  const T large = sizeof(T) == 4 ? T(1e8) : T(1e17);
  const T table[] = {large, T(1), -large, T(3)};
  return table[(static_cast<std::size_t>(rank) + i / 3) % 4] + T(0.37) * static_cast<T>(i % 101);
}

template <typename T>
bool sumIsInRankOrder(Communicator& ranks, std::size_t count) {
  const Shape shape{static_cast<std::int64_t>(count)};
  Tensor input(kDTypeOf<T>, shape), output(kDTypeOf<T>, shape);
  for (std::size_t i = 0; i < count; ++i)
    input.data<T>()[i] = valueOf<T>(static_cast<int>(ranks.rank().value), i);
  if (const Status status = ranks.allreduceSum(input, output); !status.ok()) {
    std::cerr << status.error().message() << "\n";
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    T expected = valueOf<T>(0, i);
    for (int rank = 1; rank < ranks.size(); ++rank) expected = expected + valueOf<T>(rank, i);
    if (output.data<T>()[i] == expected) continue;
    std::cerr << "element " << i << " of " << count << " is wrong on rank " << ranks.rank().value << "\n";
    return false;
  }
  return true;
}

int sums(Communicator& ranks) {
  for (const std::size_t count : {1u, 7u, 2048u, 2049u, 100003u, (4u << 20) + 5u})
    if (!sumIsInRankOrder<float>(ranks, count) || !sumIsInRankOrder<double>(ranks, count)) return 1;
  std::cout << "sums of " + std::to_string(ranks.size()) + " ranks\n";
  return 0;
}

int broadcasts(Communicator& ranks) {
  for (std::int64_t root = 0; root < ranks.size(); ++root) {
    std::vector<std::byte> bytes(100000, static_cast<std::byte>(ranks.rank().value));
    if (!ranks.broadcast(bytes, Rank{root}).ok() || !ranks.barrier().ok()) return 1;
    if (bytes != std::vector<std::byte>(bytes.size(), static_cast<std::byte>(root))) return 1;
  }
  return 0;
}

// Rank 1 ends in some bad way; the others wait for it in a collective that nothing bounds.
int loses(Communicator& ranks, std::string_view how) {
  if (!ranks.barrier().ok()) return 1;
  if (ranks.rank() == Rank{1}) {
    if (how == "exit") std::exit(3);
    if (how == "kill") std::raise(SIGKILL);
    if (how == "abort") ranks.abort(5);
    if (how == "throw") throw std::runtime_error("rank 1 cannot go on");
  }
  (void)ranks.barrier();
  return 0;
}

int hangs(Communicator& ranks) {
  if (ranks.rank() == Rank{1}) std::this_thread::sleep_for(std::chrono::seconds(60));
  ranks.setWatchdog([](double seconds) { return seconds < 2 ? "" : "waited too long"; });
  const Status status = ranks.barrier();
  std::cerr << (status.ok() ? "came back" : status.error().message()) << "\n";
  return status.ok() ? 0 : 4;
}

// Rank 1 is done, the others go on. It says good-bye long before they look, or only after they began to wait.
int leaves(std::unique_ptr<Communicator> ranks, bool late) {
  if (!ranks->barrier().ok()) return 1;
  if (ranks->rank() == Rank{1}) {
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return 0;
  }
  if (!late) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Tensor one = Tensor::scalar(1.0f);
  Tensor sum = one.clone();
  const Status status = ranks->allreduceSum(one, sum);
  const auto missed = ranks->missed();
  std::cerr << (status.ok() ? "came back" : status.error().message()) + "; missed " +
                   std::to_string(missed ? missed->value : -1) + "\n";
  return status.ok() ? 0 : 4;
}

int runRank(std::string_view what) {
  auto ranks = makeCommunicator();
  if (!ranks.ok()) throw std::runtime_error(ranks.error().message());
  if (what == "sums") return sums(**ranks);
  if (what == "broadcasts") return broadcasts(**ranks);
  if (what == "hang") return hangs(**ranks);
  if (what.starts_with("leave")) return leaves(std::move(*ranks), what == "leave late");
  return loses(**ranks, what);
}

}  // namespace

int main(int, char** argv) {
  try {
    return runRank(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
