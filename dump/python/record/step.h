// Step: one operator of a program as the follower knows it: what it is told by, what it reads and makes, and
// what came after it when it ran last. A Python object that Python makes, once for each variant of a node.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <vector>

namespace msdbg::python {

/// A tensor among the arguments: args[position], or an item of that list.
struct Argument {
  Py_ssize_t position = 0, item = -1;
  std::int64_t tensor = -1;  // what of the graph it shows; of what is written: not read
};

struct StepObject {
  PyObject_HEAD PyObject *entry, *func, *scope, *place,
      *next;  // scope: of a backward step, what it is the gradient of; place: (id of code, instruction), or
              // None: not compared
  std::int64_t node, slot, number;
  char simple;   // the follower may run it; else Python does
  bool forward;  // no autograd node runs while it does
  std::vector<Argument>* reads;
  std::vector<Argument>* writes;
  std::vector<std::int64_t>* outputs;  // of what it writes, then of what it returns that is new
  std::vector<PyObject*>* dtypes;      // of these
};

/// Step(entry, func, scope, place, node, slot, number, simple, forward, reads, writes, outputs, dtypes)
PyObject* makeStepType();
/// Whether it is one. With an exception where not.
bool isStep(PyObject* object);

}  // namespace msdbg::python
