// Who takes part in no more collectives: each rank's last message to every other one, with the number of
// collectives it came to. A rank that waits for one that ended learns it there; MPI's own collectives break
// with an error text of theirs, or never end. Messages have a communicator of their own, so they meet no
// collective. Requests are only polled. One thread per rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"

namespace msdbg::core {

class MpiGoodbyes {
 public:
  explicit MpiGoodbyes(MPI_Comm comm);  // collective
  MpiGoodbyes(const MpiGoodbyes&) = delete;
  MpiGoodbyes& operator=(const MpiGoodbyes&) = delete;

  /// The lowest rank that said good-bye before its collective number `collectives` (counted from 1).
  Result<std::optional<Rank>> goneBefore(std::int64_t collectives);
  Status say(std::int64_t collectives);  // once: so many came, no more will
  Result<bool> allSaid();                // every rank, and this one is heard
  void release();                        // collective; before MPI_Finalize

 private:
  MPI_Comm m_comm = MPI_COMM_NULL;
  int m_rank = 0, m_size = 1;
  std::int64_t m_mine = 0;
  std::vector<std::int64_t> m_collectives;  // of each rank that said good-bye; -1: it has not
  std::vector<MPI_Request> m_received, m_sent;
};

}  // namespace msdbg::core
