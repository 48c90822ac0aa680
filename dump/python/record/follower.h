// Follower: what stands between torch's dispatch mode and Python's slow way. While a program does what it did
// in the iteration before, operator by operator (the same function, scope, place, values read), it runs each,
// tells the recorder and looks at what was made, without Python code. Anything else it gives to `slow`.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "dump/python/record/msdbg_record.h"

namespace msdbg::python {

/// Follower(recording=…, …): see kParts in follower.cpp, and FollowerObject for what each is.
PyObject* makeFollowerType();

/// Of a Recording. nullptr and an exception: it is none.
msdbg_recording* recordingIn(PyObject* object);

}  // namespace msdbg::python
