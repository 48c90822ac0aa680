#include "dump/python/record/shown.h"

namespace msdbg::python {
namespace {

// Interned once: making a text for each look-up would cost more than the look-up.
PyObject *s_untypedStorage, *s_cdata, *s_weakRef;

}  // namespace

bool prepareStorageNames() {
  s_untypedStorage = PyUnicode_InternFromString("untyped_storage");
  s_cdata = PyUnicode_InternFromString("_cdata");
  s_weakRef = PyUnicode_InternFromString("_weak_ref");
  return s_untypedStorage && s_cdata && s_weakRef;
}

Storage::Storage(PyObject* tensor)
    : m_storage(PyObject_CallMethodObjArgs(tensor, s_untypedStorage, nullptr)),
      m_key(m_storage ? PyObject_GetAttr(m_storage.get(), s_cdata) : nullptr) {}

bool nowShows(const Shown& shown, const Storage& storage, PyObject* id) {
  if (PyDict_Contains(shown.ids, storage.key()) == 0) {
    const Held reference(PyObject_CallMethodObjArgs(storage.storage(), s_weakRef, nullptr));
    if (!reference || PyList_Append(shown.held, reference.get()) < 0) return false;
  }
  return PyDict_SetItem(shown.ids, storage.key(), id) == 0;
}

bool lookAt(const Shown& shown, PyObject* tensor, PyObject* id, std::int64_t number) {
  if (PySet_Add(shown.seen, id) < 0) return false;
  Value value;
  switch (valueOf(tensor, value)) {
    case Readable::kError:
      return false;
    case Readable::kNo:
      return Held(PyObject_CallFunctionObjArgs(shown.see, id, tensor, nullptr)).get() != nullptr;
    case Readable::kYes:
      break;
  }
  return msdbg_record_saw(shown.recording, number, value.data, value.dtype, value.dims, value.rank) == 0 ||
         recorderFailed();
}

bool isPlain(PyObject* plain, PyObject* type) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(plain); ++i)
    if (PyTuple_GetItem(plain, i) == type) return true;
  return false;
}

bool recorderFailed() {
  PyErr_SetString(PyExc_RuntimeError, msdbg_record_error());
  return false;
}

}  // namespace msdbg::python
