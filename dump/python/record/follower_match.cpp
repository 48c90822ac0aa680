// Whether what is called is what came here in the iteration before, and what it made.
#include <utility>

#include "dump/python/record/follower_internal.h"
#include "dump/python/record/parts.h"

namespace msdbg::python {

FollowerNames g_names;

bool prepareFollowerNames() {
  const std::pair<PyObject**, const char*> names[] = {{&g_names.untypedStorage, "untyped_storage"},
                                                      {&g_names.back, "f_back"},
                                                      {&g_names.code, "f_code"},
                                                      {&g_names.lasti, "f_lasti"},
                                                      {&g_names.dtype, "dtype"}};
  for (const auto& [where, name] : names)
    if (!*where && !(*where = PyUnicode_InternFromString(name))) return false;
  return true;
}

namespace {

// Borrowed. nullptr, without an exception: there is no such argument.
PyObject* argumentAt(PyObject* args, const Argument& where) {
  if (where.position >= PyTuple_Size(args)) return nullptr;
  PyObject* value = PyTuple_GetItem(args, where.position);
  if (where.item < 0) return value;
  const bool list = PyList_Check(value) != 0;
  if (!list && !PyTuple_Check(value)) return nullptr;
  if (where.item >= (list ? PyList_Size(value) : PyTuple_Size(value))) return nullptr;
  return list ? PyList_GetItem(value, where.item) : PyTuple_GetItem(value, where.item);
}

// The code and instruction that called the dispatch mode.
bool isAt(PyObject* place) {
  PyFrameObject* here = PyEval_GetFrame();
  if (!here) return false;
  const Held back(PyObject_GetAttr(reinterpret_cast<PyObject*>(here), g_names.back));
  const Held code(back ? PyObject_GetAttr(back.get(), g_names.code) : nullptr);
  const Held lasti(code ? PyObject_GetAttr(back.get(), g_names.lasti) : nullptr);
  if (!lasti) return no();
  return PyLong_AsVoidPtr(PyTuple_GetItem(place, 0)) == code.get() &&
         PyLong_AsLong(PyTuple_GetItem(place, 1)) == PyLong_AsLong(lasti.get());
}

bool isRunningBackward(const FollowerObject* self, bool& backward) {
  const Held task(PyObject_CallObject(self->task, nullptr));
  if (!task) return no();
  backward = PyLong_AsLong(task.get()) != -1;
  return true;
}

// It shows what the step reads there.
bool shows(const FollowerObject* self, PyObject* args, const Argument& read) {
  PyObject* tensor = argumentAt(args, read);
  if (!tensor || tensor == Py_None) return false;
  const Storage storage(tensor);
  if (!storage) return no();
  PyObject* known = PyDict_GetItem(self->ids, storage.key());
  return known && PyLong_AsLongLong(known) == read.tensor;
}

bool hasArgument(PyObject* args, const Argument& write) {
  const PyObject* tensor = argumentAt(args, write);
  return tensor && tensor != Py_None;
}

std::int64_t countOf(const FollowerObject* self, const StepObject* step) {
  PyObject* count = PyList_GetItem(self->counts, static_cast<Py_ssize_t>(step->slot));
  return count ? PyLong_AsLongLong(count) : (PyErr_Clear(), -1);
}

bool isIn(const FollowerObject* self, PyObject* scope) {
  if (self->scope != Py_None) return self->scope == scope;
  const Held here(PyObject_CallObject(self->outside, nullptr));
  return here ? here.get() == scope : no();
}

// The autograd node that runs is of the operator that the step is the gradient of. While an iteration is as
// the one before it is, and is not asked.
bool isOf(const FollowerObject* self, PyObject* owner) {
  if (!self->changed) return true;
  const Held now(PyObject_CallObject(self->origin, nullptr));
  return now ? now.get() == owner : no();
}

bool hasDtype(PyObject* tensor, PyObject* dtype) {
  const Held its(PyObject_GetAttr(tensor, g_names.dtype));
  return its ? its.get() == dtype : no();
}

bool isNew(const FollowerObject* self, PyObject* tensor) {
  const Storage storage(tensor);
  return storage ? PyDict_Contains(self->ids, storage.key()) == 0 : no();
}

}  // namespace

bool allPlain(const FollowerObject* self, PyObject* types) {
  const Py_ssize_t count = PySequence_Size(types);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Held type(PySequence_GetItem(types, i));
    if (!isPlain(self->plain, type.get())) return false;
  }
  return count >= 0 || no();
}

StepObject* expectedStep(FollowerObject* self, PyObject* func, PyObject* types, PyObject* args,
                         PyObject* kwargs) {
  PyObject* next = reinterpret_cast<StepObject*>(self->last)->next;
  if (next == Py_None) return nullptr;
  auto* step = reinterpret_cast<StepObject*>(next);
  bool backward = false;
  if (!step->simple || step->func != func || !isRunningBackward(self, backward) || step->forward == backward)
    return nullptr;
  if (backward ? !isOf(self, step->scope) : self->inBackward || !isIn(self, step->scope)) return nullptr;
  if ((kwargs != Py_None && PyDict_Size(kwargs) > 0 && !step->writes->empty()) || !allPlain(self, types))
    return nullptr;
  if (countOf(self, step) != step->number - 1) return nullptr;
  for (const Argument& read : *step->reads)
    if (!shows(self, args, read)) return nullptr;
  for (const Argument& write : *step->writes)
    if (!hasArgument(args, write)) return nullptr;
  if (step->place != Py_None && !isAt(step->place)) return nullptr;
  return step;
}

bool gatherMade(const FollowerObject* self, const StepObject* step, PyObject* args, PyObject* out,
                Made& made) {
  for (const Argument& write : *step->writes) made.push_back(argumentAt(args, write));
  const std::size_t written = made.size(), all = step->outputs->size();
  const auto take = [&](PyObject* item) {
    if (item == Py_None) return true;
    for (std::size_t i = 0; i < written; ++i)
      if (made[i] == item) return true;
    if (PyList_Check(item) || PyTuple_Check(item)) return false;       // lists of tensors: Python's
    if (!PyObject_HasAttr(item, g_names.untypedStorage)) return true;  // a number
    if (isNew(self, item)) made.push_back(item);
    return true;
  };
  if (PyTuple_Check(out)) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(out); ++i)
      if (!take(PyTuple_GetItem(out, i))) return false;
  } else if (!take(out)) {
    return false;
  }
  if (made.size() != all) return false;
  for (std::size_t i = 0; i < all; ++i)
    if (!hasDtype(made[i], (*step->dtypes)[i])) return false;
  return true;
}

}  // namespace msdbg::python
