// Ranks as processes under Open MPI. Only nonblocking calls are used, polled: a blocking one would burn the
// core that another rank needs, and could never be given up when a rank is gone.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core_engine/distributed/mpi_arrivals_internal.h"
#include "core_engine/distributed/mpi_check_internal.h"
#include "core_engine/distributed/mpi_communicator_internal.h"
#include "core_engine/distributed/mpi_goodbyes_internal.h"
#include "core_engine/distributed/mpi_threads_internal.h"
#include "core_engine/distributed/rank_sum_internal.h"

namespace msdbg::core {
namespace {

using Clock = std::chrono::steady_clock;

// Up to here every rank gets everything and sums it itself: one exchange instead of two.
constexpr std::int64_t kSmallElements = 2048;
// Larger tensors go in pieces: counts are ints, and the buffer stays small.
constexpr std::int64_t kPieceElements = std::int64_t{4} << 20;
constexpr std::size_t kBroadcastBytes = std::size_t{1} << 30;

MPI_Datatype mpiType(DType dtype) { return dtype == DType::Float64 ? MPI_DOUBLE : MPI_FLOAT; }

// Yields while data may be on its way: progress is made by these calls only. Who waits longer waits for a
// rank that computes, and leaves it the core.
void pause(Clock::duration waited) {
  if (waited < std::chrono::milliseconds(10))
    sched_yield();
  else
    usleep(waited < std::chrono::milliseconds(100) ? 20 : 200);
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, bool ownsMpi)
      : m_comm(comm), m_ownsMpi(ownsMpi), m_arrivals(comm), m_goodbyes(comm) {
    MPI_Comm_rank(comm, &m_rank);
    MPI_Comm_size(comm, &m_size);
  }

  // After an error, or while an exception ends the program, the other ranks may never come to MPI_Finalize.
  // Leaving without it makes mpirun end them.
  ~MpiCommunicator() override {
    if (!m_failure.empty() || std::uncaught_exceptions() > 0 || !leave().ok()) return;
    m_arrivals.release();
    m_goodbyes.release();
    MPI_Comm_free(&m_comm);
    if (!m_ownsMpi) return;
    waitUntilOtherThreadsSleep(std::chrono::seconds(1));
    MPI_Finalize();
  }

  Rank rank() const override { return Rank{m_rank}; }
  int size() const override { return m_size; }

  Status allreduceSum(const Tensor& input, Tensor& output) override {
    MSDBG_TRY(checkReducible(input, output));
    MSDBG_TRY(enter());
    if (input.elements() <= kSmallElements) return sumSmall(input, output);
    for (std::int64_t at = 0; at < input.elements(); at += kPieceElements)
      MSDBG_TRY(sumPiece(input, output, at, std::min(kPieceElements, input.elements() - at)));
    return Ok{};
  }

  Status broadcast(std::span<std::byte> bytes, Rank root) override {
    MSDBG_TRY(enter());
    for (std::size_t at = 0; at < bytes.size(); at += kBroadcastBytes) {
      const std::span<std::byte> piece = bytes.subspan(at, std::min(kBroadcastBytes, bytes.size() - at));
      MSDBG_TRY(await("broadcast", [&](MPI_Request* request) {
        return MPI_Ibcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE,
                          static_cast<int>(root.value), m_comm, request);
      }));
    }
    return Ok{};
  }

  Status barrier() override {
    MSDBG_TRY(enter());
    return await("barrier", [&](MPI_Request* request) { return MPI_Ibarrier(m_comm, request); });
  }

  void abort(int exitStatus) override {
    MPI_Abort(m_comm, exitStatus);
    std::_Exit(exitStatus);  // MPI_Abort may return when the runtime is gone
  }

  void setWatchdog(Watchdog watchdog) override { m_watchdog = std::move(watchdog); }
  std::optional<Rank> missed() const override { return m_missed; }

 private:
  // Every collective begins here. After a failure requests may still be pending, so nothing else is sent.
  Status enter() {
    if (!m_failure.empty()) return Error(ErrorCode::kUnavailable, m_failure);
    m_arrivals.arrive();
    ++m_collectives;
    return Ok{};
  }

  // Not a collective: it would meet the one in which another rank waits for this one.
  Status leave() {
    MSDBG_TRY(m_goodbyes.say(m_collectives));
    return poll(
        [&] { return m_goodbyes.allSaid(); },
        [&](double seconds) { return watchdogStatus("the end", m_watchdog ? m_watchdog(seconds) : ""); });
  }

  Status sumSmall(const Tensor& input, Tensor& output) {
    const int count = static_cast<int>(input.elements());
    m_received.resize(input.bytes() * static_cast<std::size_t>(m_size));
    MSDBG_TRY(await("allreduce", [&](MPI_Request* request) {
      return MPI_Iallgather(input.raw(), count, mpiType(input.dtype()), m_received.data(), count,
                            mpiType(input.dtype()), m_comm, request);
    }));
    sumReceived(input.dtype(), output.byteSpan().data(), static_cast<std::size_t>(count));
    return Ok{};
  }

  // Each rank sums one slice of the piece and sends the result to all: every byte travels twice, whatever the
  // number of ranks, and each element is summed once, so all ranks get the same bits.
  Status sumPiece(const Tensor& input, Tensor& output, std::int64_t at, std::int64_t count) {
    const std::size_t width = dtypeSize(input.dtype());
    const std::byte* from = input.byteSpan().data() + static_cast<std::size_t>(at) * width;
    std::byte* to = output.byteSpan().data() + static_cast<std::size_t>(at) * width;
    splitPiece(count);
    const std::size_t mine = static_cast<std::size_t>(m_counts[static_cast<std::size_t>(m_rank)]);
    const int start = m_starts[static_cast<std::size_t>(m_rank)];
    m_received.resize(mine * width * static_cast<std::size_t>(m_size));
    const MPI_Datatype type = mpiType(input.dtype());
    MSDBG_TRY(await("allreduce", [&](MPI_Request* request) {
      return MPI_Ialltoallv(from, m_counts.data(), m_starts.data(), type, m_received.data(),
                            m_receiveCounts.data(), m_receiveStarts.data(), type, m_comm, request);
    }));
    sumReceived(input.dtype(), to + static_cast<std::size_t>(start) * width, mine);
    return await("allreduce", [&](MPI_Request* request) {
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, type, to, m_counts.data(), m_starts.data(), type, m_comm,
                             request);
    });
  }

  // Slices of the piece by owner, and where the parts of this rank's slice go. Members: they must outlive a
  // wait that was given up.
  void splitPiece(std::int64_t count) {
    m_counts.clear(), m_starts.clear(), m_receiveStarts.clear();
    for (std::int64_t rank = 0; rank < m_size; ++rank) {
      const std::int64_t first = count * rank / m_size, last = count * (rank + 1) / m_size;
      m_counts.push_back(static_cast<int>(last - first));
      m_starts.push_back(static_cast<int>(first));
    }
    const int mine = m_counts[static_cast<std::size_t>(m_rank)];
    m_receiveCounts.assign(m_counts.size(), mine);
    for (int rank = 0; rank < m_size; ++rank) m_receiveStarts.push_back(rank * mine);
  }

  void sumReceived(DType dtype, std::byte* output, std::size_t count) {
    std::vector<const std::byte*> parts;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(m_size); ++rank)
      parts.push_back(m_received.data() + rank * count * dtypeSize(dtype));
    sumInRankOrder(dtype, parts, output, count);
  }

  template <typename Start>
  Status await(const char* what, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    Status status = checkMpi(start(&request), what);
    if (status.ok()) status = complete(what, request);
    if (!status.ok()) m_failure = status.error().message();
    return status;
  }

  Status complete(const char* what, MPI_Request& request) {
    const auto done = [&]() -> Result<bool> {
      int over = 0;
      MSDBG_TRY(checkMpi(MPI_Test(&request, &over, MPI_STATUS_IGNORE), what));
      return over != 0;
    };
    return poll(done, [&](double seconds) { return lookForLost(what, seconds); });
  }

  // done() until it is true; look(seconds waited so far) once a second.
  template <typename Done, typename Look>
  static Status poll(const Done& done, const Look& look) {
    const Clock::time_point begin = Clock::now();
    for (Clock::time_point asked = begin;;) {
      MSDBG_ASSIGN(const bool over, done());
      if (over) return Ok{};
      const Clock::time_point now = Clock::now();
      if (now - asked >= std::chrono::seconds(1)) {
        asked = now;
        MSDBG_TRY(look(std::chrono::duration<double>(now - begin).count()));
      }
      pause(now - begin);
    }
  }

  Status lookForLost(const char* what, double seconds) {
    MSDBG_ASSIGN(m_missed, m_goodbyes.goneBefore(m_collectives));
    if (m_missed)
      return watchdogStatus(what, "rank " + std::to_string(m_missed->value) + " ended while rank " +
                                      std::to_string(m_rank) +
                                      " waits for it: every rank has to take the same steps");
    return watchdogStatus(what, m_watchdog ? m_watchdog(seconds) : "");
  }

  Status watchdogStatus(const char* what, const std::string& why) const {
    if (why.empty()) return Ok{};
    const std::string absent = m_arrivals.absent();
    return Error(ErrorCode::kUnavailable,
                 why + (absent.empty() ? "" : "; ranks that did not come: " + absent) + " (" + what + ")");
  }

  MPI_Comm m_comm;
  bool m_ownsMpi;
  int m_rank = 0, m_size = 1;
  MpiArrivals m_arrivals;
  MpiGoodbyes m_goodbyes;
  std::int64_t m_collectives = 0;  // that this rank came to
  std::optional<Rank> m_missed;
  Watchdog m_watchdog;
  std::string m_failure;  // the first; the communicator is of no use after it
  std::vector<std::byte> m_received;
  std::vector<int> m_counts, m_starts, m_receiveCounts, m_receiveStarts;
};

Result<bool> startMpi() {
  int running = 0, over = 0, level = MPI_THREAD_SINGLE;
  MPI_Finalized(&over);
  if (over) return Error(ErrorCode::kUsage, "MPI was already shut down: one communicator per process");
  MPI_Initialized(&running);
  // The main thread starts, a recorder may end: calls come from more than one thread, never at the same time.
  const int code =
      running ? MPI_Query_thread(&level) : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  MSDBG_TRY(checkMpi(code, "starting MPI"));
  if (level < MPI_THREAD_SERIALIZED)
    return Error(ErrorCode::kUnsupported, "this MPI offers no MPI_THREAD_SERIALIZED");
  return !running;
}

}  // namespace

Result<std::unique_ptr<Communicator>> makeMpiCommunicator() {
  MSDBG_ASSIGN(const bool owns, startMpi());
  MPI_Comm comm = MPI_COMM_NULL;
  MSDBG_TRY(checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(comm, owns));
}

}  // namespace msdbg::core
