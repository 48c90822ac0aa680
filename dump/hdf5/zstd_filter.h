// Filter 32015 (zstd) for HDF5's pipeline: registered in this process, and the whole content of the filter
// plugin that other programs load through HDF5_PLUGIN_PATH. Uses nothing of libhdf5, so that the plugin links
// only zstd. Chunks are plain zstd frames that carry their content size. Thread-safe.
#pragma once

namespace msdbg::dump::hdf5 {

inline constexpr int kZstdFilter = 32015;  // The HDF Group's registry
/// An H5Z_class2_t; static.
const void* zstdFilterClass();

}  // namespace msdbg::dump::hdf5
