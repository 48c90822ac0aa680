// HDF5 and the end of a process.
#pragma once

namespace msdbg::dump {

/// HDF5 is ready, and what it does at exit comes after every exit handler that is registered from now on: one
/// that records needs the library. Thread-safe.
void prepareHdf5();

/// For the first lines of a program of ours, never for a library: it holds for the whole process. HDF5 then
/// does not clean up when the process exits. We close every file ourselves; all that its cleaning up does is
/// to complain ("infinite loop closing library") of what it cannot release of a damaged file. A host program
/// that leaves HDF5 files of its own open relies on it, which is why Session must not call this. To be called
/// before anything else of HDF5.
void skipHdf5Cleanup();

}  // namespace msdbg::dump
