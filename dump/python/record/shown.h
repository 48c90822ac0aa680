// What storages show in the iteration that is recorded, as Python's _values.Values keeps it: read and changed
// here without Python code. With the GIL; false: a Python exception is set.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "dump/python/record/msdbg_record.h"
#include "dump/python/record/python_arguments.h"

namespace msdbg::python {

/// Once, before all else.
bool prepareStorageNames();

/// What a tensor is stored in. False: it has no storage, an exception is set.
class Storage {
 public:
  explicit Storage(PyObject* tensor);
  PyObject* storage() const { return m_storage.get(); }
  /// Tells storages apart as long as they live.
  PyObject* key() const { return m_key.get(); }
  explicit operator bool() const { return static_cast<bool>(m_key); }

 private:
  Held m_storage, m_key;
};

/// Borrowed parts of Values; see(number, tensor) is Python's, for what cannot be read as it lies.
struct Shown {
  msdbg_recording* recording;
  PyObject *ids, *held, *seen, *see;
};

/// From now on the storage shows this tensor of the graph.
bool nowShows(const Shown& shown, const Storage& storage, PyObject* id);
/// Statistics and hash of its values, now.
bool lookAt(const Shown& shown, PyObject* tensor, PyObject* id, std::int64_t number);

/// The type is one of the tuple `plain`: of a tensor whose operators compute what they say, on memory of its
/// own.
bool isPlain(PyObject* plain, PyObject* type);

/// The C functions' error as Python's.
bool recorderFailed();

}  // namespace msdbg::python
