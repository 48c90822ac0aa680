// MPI's return codes as Status.
#pragma once

#include <mpi.h>

#include <string>

#include "core_engine/base/result.h"

namespace msdbg::core {

/// kIo with MPI's own text after `what`.
inline Status checkMpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return Ok{};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Error(ErrorCode::kIo, std::string(what) + ": " + text);
}

}  // namespace msdbg::core
