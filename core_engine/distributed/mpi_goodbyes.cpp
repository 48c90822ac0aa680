#include "core_engine/distributed/mpi_check_internal.h"
#include "core_engine/distributed/mpi_goodbyes_internal.h"

namespace msdbg::core {

MpiGoodbyes::MpiGoodbyes(MPI_Comm comm) {
  MPI_Comm_dup(comm, &m_comm);
  MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &m_rank);
  MPI_Comm_size(comm, &m_size);
  m_collectives.assign(static_cast<std::size_t>(m_size), -1);
  m_received.assign(m_collectives.size(), MPI_REQUEST_NULL);
  m_sent = m_received;
  for (int rank = 0; rank < m_size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (rank != m_rank) MPI_Irecv(&m_collectives[at], 1, MPI_INT64_T, rank, 0, m_comm, &m_received[at]);
  }
}

Result<std::optional<Rank>> MpiGoodbyes::goneBefore(std::int64_t collectives) {
  for (int rank = 0; rank < m_size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    int here = 0;  // of a request that is over already MPI says so too
    MSDBG_TRY(checkMpi(MPI_Test(&m_received[at], &here, MPI_STATUS_IGNORE), "good-bye"));
    if (rank != m_rank && here && m_collectives[at] < collectives) return std::optional(Rank{rank});
  }
  return std::optional<Rank>();
}

Status MpiGoodbyes::say(std::int64_t collectives) {
  m_mine = collectives;
  for (int rank = 0; rank < m_size; ++rank) {
    if (rank == m_rank) continue;
    MSDBG_TRY(
        checkMpi(MPI_Isend(&m_mine, 1, MPI_INT64_T, rank, 0, m_comm, &m_sent[static_cast<std::size_t>(rank)]),
                 "good-bye"));
  }
  return Ok{};
}

Result<bool> MpiGoodbyes::allSaid() {
  int heard = 0, said = 0;
  MSDBG_TRY(checkMpi(MPI_Testall(m_size, m_sent.data(), &heard, MPI_STATUSES_IGNORE), "good-bye"));
  MSDBG_TRY(checkMpi(MPI_Testall(m_size, m_received.data(), &said, MPI_STATUSES_IGNORE), "good-bye"));
  return heard != 0 && said != 0;
}

void MpiGoodbyes::release() { MPI_Comm_free(&m_comm); }

}  // namespace msdbg::core
