#include "core_engine/distributed/mpi_arrivals_internal.h"

namespace msdbg::core {
namespace {

constexpr MPI_Aint kSlotBytes = 64;  // a cache line of its own for every rank

bool onOneMachine(MPI_Comm comm, int size) {
  MPI_Comm machine = MPI_COMM_NULL;
  int here = 0;
  if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) != MPI_SUCCESS)
    return false;
  MPI_Comm_size(machine, &here);
  MPI_Comm_free(&machine);
  return here == size;
}

}  // namespace

MpiArrivals::MpiArrivals(MPI_Comm comm) {
  MPI_Comm_rank(comm, &m_rank);
  MPI_Comm_size(comm, &m_size);
  int one = onOneMachine(comm, m_size), all = 0;
  if (MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !all) return;
  void* mine = nullptr;
  if (MPI_Win_allocate_shared(kSlotBytes, 1, MPI_INFO_NULL, comm, &mine, &m_window) != MPI_SUCCESS) {
    m_window = MPI_WIN_NULL;
    return;
  }
  counter(m_rank).store(0);
  MPI_Barrier(comm);
}

std::atomic_ref<std::int64_t> MpiArrivals::counter(int rank) const {
  MPI_Aint bytes = 0;
  int unit = 0;
  void* base = nullptr;
  MPI_Win_shared_query(m_window, rank, &bytes, &unit, &base);
  // Slots begin a few bytes into the shared segment, at multiples of 8.
  return std::atomic_ref<std::int64_t>(*static_cast<std::int64_t*>(base));
}

void MpiArrivals::arrive() {
  if (m_window != MPI_WIN_NULL) counter(m_rank).fetch_add(1);
}

std::string MpiArrivals::absent() const {
  std::string text;
  if (m_window == MPI_WIN_NULL) return text;
  const std::int64_t mine = counter(m_rank).load();
  for (int rank = 0; rank < m_size; ++rank)
    if (counter(rank).load() < mine) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

void MpiArrivals::release() {
  if (m_window != MPI_WIN_NULL) MPI_Win_free(&m_window);
}

}  // namespace msdbg::core
