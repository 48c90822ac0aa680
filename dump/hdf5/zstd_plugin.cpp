// The plugin's two entry points; everything else is zstd_filter.cpp.
#include <H5PLextern.h>

#include "dump/hdf5/zstd_filter.h"

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }

const void* H5PLget_plugin_info(void) { return msdbg::dump::hdf5::zstdFilterClass(); }
