// What an object of the extension is made of: named arguments of its constructor, kept as long as it lives.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>

namespace msdbg::python {

template <typename Object>
struct Part {
  const char* name;
  PyObject* Object::*place;
  PyTypeObject* type;  // nullptr: any
};

/// Takes all of `parts`, and nothing else. False: a Python exception is set.
template <typename Object, std::size_t kCount>
bool takeParts(const char* who, Object* self, const Part<Object> (&parts)[kCount], PyObject* given) {
  for (const Part<Object>& part : parts) {
    PyObject* object = given ? PyDict_GetItemString(given, part.name) : nullptr;
    if (!object || (part.type && !PyObject_TypeCheck(object, part.type))) {
      PyErr_Format(PyExc_TypeError, "%s: %s is missing, or not what it should be", who, part.name);
      return false;
    }
    Py_INCREF(object);
    self->*part.place = object;
  }
  if (PyDict_Size(given) == static_cast<Py_ssize_t>(kCount)) return true;
  PyErr_Format(PyExc_TypeError, "%s: there is a part that it does not know", who);
  return false;
}

/// What was tried has failed: Python's way will say why, or do it.
inline bool no() {
  PyErr_Clear();
  return false;
}

}  // namespace msdbg::python
