// Turns: of one parameter in an optimizer's step, what Python's _optimizers.Optimizers tells, without Python
// code where it is what it was in the iteration before. With the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace msdbg::python {

/// The type msdbg._record.Turns, a new reference; nullptr: a Python exception is set.
PyObject* makeTurnsType();

}  // namespace msdbg::python
