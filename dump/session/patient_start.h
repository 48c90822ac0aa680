// Included by msdbg.h: who trains with it starts with patient threads (core_engine/base/openmp_waiting.h), as
// the commands of msdbg that train do.
#pragma once

namespace msdbg::dump {

/// Has the loader start the program again with GOMP_SPINCOUNT=1000 in its environment, before any of its code
/// ran; not where the user has chosen. The call itself does nothing: that it is linked is enough. Not for
/// shared libraries.
bool startsWithPatientThreads();

}  // namespace msdbg::dump

namespace msdbg {
inline const bool kStartsWithPatientThreads = dump::startsWithPatientThreads();
}
