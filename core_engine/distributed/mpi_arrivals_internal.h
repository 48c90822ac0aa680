// Who has come to the current collective: a counter per rank in memory that the ranks of one machine share,
// so that a wait that is given up can name the ranks it waited for. MPI's own collectives cannot tell.
// Optional: without such memory (ranks on several machines) nobody is named. One thread per rank; counters
// are atomic.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace msdbg::core {

class MpiArrivals {
 public:
  explicit MpiArrivals(MPI_Comm comm);  // collective
  MpiArrivals(const MpiArrivals&) = delete;
  MpiArrivals& operator=(const MpiArrivals&) = delete;

  void arrive();  // this rank has come to its next collective
  std::string absent()
      const;       // "1, 3": ranks that have not come to this rank's collective; "" when not known
  void release();  // collective; before MPI_Finalize

 private:
  std::atomic_ref<std::int64_t> counter(int rank) const;

  int m_rank = 0, m_size = 1;
  MPI_Win m_window = MPI_WIN_NULL;
};

}  // namespace msdbg::core
