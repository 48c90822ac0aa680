// What the parts of the follower share. Private to it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <unordered_set>
#include <vector>

#include "dump/python/record/msdbg_record.h"
#include "dump/python/record/shown.h"
#include "dump/python/record/step.h"

namespace msdbg::python {

struct FollowerObject {
  PyObject_HEAD PyObject* recordingObject;  // that `recording` is of
  PyObject* plain;                          // tuple: types of tensors whose operators compute what they say
  PyObject* ids;                            // dict: storage -> tensor of the graph
  PyObject* held;           // list: weak references that keep addresses of storages from being used again
  PyObject* counts;         // list: by slot, how many ran in this iteration
  PyObject* seen;           // set: tensors that were looked at
  PyObject *number, *task;  // torch's: sequence number to be given next; the graph task that runs
  PyObject *slow, *late, *view, *own, *see, *outside;  // Python's; outside(): the scope where `scope` is None
  PyObject* doubt;         // doubt(entry, args, kwargs): of finite values it made others
  PyObject* origin;        // origin(): of which forward operator the autograd node is that runs
  PyObject *scope, *last;  // where the program is; the Step that ran last
  msdbg_recording* recording;
  std::unordered_set<PyObject*>* folds;  // functions that only make views
  long long seenNumber;                  // sequence number when the last operator had run
  char changed;                          // this iteration is not as the one before
  char enabled;                          // an iteration is recorded, and operators belong to it
  char inBackward;  // backward() was called: what autograd itself is not doing is its seed
};

/// Names of attributes, interned once: making a text for each look-up would cost more than the look-up.
struct FollowerNames {
  PyObject *untypedStorage, *back, *code, *lasti, *dtype;
};
extern FollowerNames g_names;
/// False: a Python exception is set.
bool prepareFollowerNames();

/// Tensors that an operator made, in the order of its step's outputs. Borrowed.
using Made = std::vector<PyObject*>;

/// The step that this call is, where it is the one that is expected; else nullptr. Changes nothing, and
/// leaves no exception.
StepObject* expectedStep(FollowerObject* self, PyObject* func, PyObject* types, PyObject* args,
                         PyObject* kwargs);
bool allPlain(const FollowerObject* self, PyObject* types);
/// What it wrote, then what it returned that nobody had. False: not what the step made.
bool gatherMade(const FollowerObject* self, const StepObject* step, PyObject* args, PyObject* out,
                Made& made);

/// The step ran last.
void arriveAt(FollowerObject* self, PyObject* step);
/// Tells the recorder that it ran, and looks at what it made. False: a Python exception is set.
bool tellStep(FollowerObject* self, StepObject* step, const Made& made);
/// What it made is not finite, though all that it read was when that was looked at.
bool madeNonFinite(const FollowerObject* self, const StepObject* step);

}  // namespace msdbg::python
