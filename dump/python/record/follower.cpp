#include "dump/python/record/follower.h"

#include <structmember.h>

#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dump/python/record/python_arguments.h"
#include "dump/python/record/step.h"

namespace msdbg::python {
namespace {

struct FollowerObject {
  PyObject_HEAD PyObject *recordingObject, *plain;
  PyObject* ids;            // dict: storage -> tensor of the graph
  PyObject* held;           // list: weak references that keep addresses of storages from being used again
  PyObject* counts;         // list: by slot, how many ran in this iteration
  PyObject* seen;           // set: tensors that were looked at
  PyObject *number, *task;  // torch's: sequence number to be given next; the graph task that runs
  PyObject *slow, *late, *view, *own, *see, *outside;  // Python's; outside(): the scope where `scope` is None
  PyObject* origin;        // origin(): of which forward operator the autograd node is that runs
  PyObject *scope, *last;  // where the program is; the Step that ran last
  msdbg_recording* recording;
  std::unordered_set<PyObject*>* folds;  // functions that only make views
  long long seenNumber;                  // sequence number when the last operator had run
  char changed;                          // this iteration is not as the one before
  char enabled;                          // an iteration is recorded, and operators belong to it
  char inBackward;  // backward() was called: what autograd itself is not doing is its seed
};

FollowerObject* followerOf(PyObject* self) { return reinterpret_cast<FollowerObject*>(self); }

PyObject *s_untypedStorage, *s_cdata, *s_weakRef, *s_back, *s_code, *s_lasti, *s_dtype;

/// What a tensor is stored in.
class Storage {
 public:
  explicit Storage(PyObject* tensor)
      : m_storage(PyObject_CallMethodObjArgs(tensor, s_untypedStorage, nullptr)),
        m_key(m_storage ? PyObject_GetAttr(m_storage.get(), s_cdata) : nullptr) {}
  PyObject* storage() const { return m_storage.get(); }
  PyObject* key() const { return m_key.get(); }
  explicit operator bool() const { return static_cast<bool>(m_key); }

 private:
  Held m_storage, m_key;
};

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

// What was tried has failed: Python's way will say why, or do it.
bool no() {
  PyErr_Clear();
  return false;
}

bool allPlain(const FollowerObject* self, PyObject* types) {
  const Py_ssize_t count = PySequence_Size(types);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Held type(PySequence_GetItem(types, i));
    bool plain = false;
    for (Py_ssize_t k = 0; !plain && k < PyTuple_Size(self->plain); ++k)
      plain = PyTuple_GetItem(self->plain, k) == type.get();
    if (!plain) return false;
  }
  return count >= 0 || no();
}

// The code and instruction that called the dispatch mode.
bool isAt(PyObject* place) {
  PyFrameObject* here = PyEval_GetFrame();
  if (!here) return false;
  const Held back(PyObject_GetAttr(reinterpret_cast<PyObject*>(here), s_back));
  const Held code(back ? PyObject_GetAttr(back.get(), s_code) : nullptr);
  const Held lasti(code ? PyObject_GetAttr(back.get(), s_lasti) : nullptr);
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

// The step that this call is, where it is the one that is expected.
StepObject* expected(FollowerObject* self, PyObject* func, PyObject* types, PyObject* args,
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

bool hasDtype(PyObject* tensor, PyObject* dtype) {
  const Held its(PyObject_GetAttr(tensor, s_dtype));
  return its ? its.get() == dtype : no();
}

/// Made tensors, in the order of a step's outputs. Borrowed.
using Made = std::vector<PyObject*>;

bool isNew(const FollowerObject* self, PyObject* tensor) {
  const Storage storage(tensor);
  return storage ? PyDict_Contains(self->ids, storage.key()) == 0 : no();
}

// What it returned that nobody had, after what it wrote. False: not what the step made.
bool gather(const FollowerObject* self, const StepObject* step, PyObject* args, PyObject* out, Made& made) {
  for (const Argument& write : *step->writes) made.push_back(argumentAt(args, write));
  const std::size_t written = made.size(), all = step->outputs->size();
  const auto take = [&](PyObject* item) {
    if (item == Py_None) return true;
    for (std::size_t i = 0; i < written; ++i)
      if (made[i] == item) return true;
    if (PyList_Check(item) || PyTuple_Check(item)) return false;  // lists of tensors: Python's
    if (!PyObject_HasAttr(item, s_untypedStorage)) return true;   // a number
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

// From now on the storage shows it.
bool nowShows(FollowerObject* self, PyObject* tensor, PyObject* id) {
  const Storage storage(tensor);
  if (!storage) return false;
  if (PyDict_Contains(self->ids, storage.key()) == 0) {
    const Held reference(PyObject_CallMethodObjArgs(storage.storage(), s_weakRef, nullptr));
    if (!reference || PyList_Append(self->held, reference.get()) < 0) return false;
  }
  return PyDict_SetItem(self->ids, storage.key(), id) == 0;
}

bool lookAt(FollowerObject* self, PyObject* tensor, PyObject* id, std::int64_t number) {
  if (PySet_Add(self->seen, id) < 0) return false;
  Value value;
  switch (valueOf(tensor, value)) {
    case Readable::kError:
      return false;
    case Readable::kNo:
      return Held(PyObject_CallFunctionObjArgs(self->see, id, tensor, nullptr)).get() != nullptr;
    case Readable::kYes:
      break;
  }
  if (msdbg_record_saw(self->recording, number, value.data, value.dtype, value.dims, value.rank) == 0)
    return true;
  PyErr_SetString(PyExc_RuntimeError, msdbg_record_error());
  return false;
}

// Autograd's node of it, if it has one, is known by the number that was given last.
bool ownNumber(FollowerObject* self, PyObject* owner) {
  const Held number(PyObject_CallObject(self->number, nullptr));
  if (!number) return false;
  const long long now = PyLong_AsLongLong(number.get());
  if (now == self->seenNumber) return true;
  self->seenNumber = now;
  const Held mine(PyLong_FromLongLong(now - 1));
  return Held(PyObject_CallFunctionObjArgs(self->own, mine.get(), owner, nullptr)).get() != nullptr;
}

void arrive(FollowerObject* self, PyObject* step) {
  Py_INCREF(step);
  PyObject* before = self->last;
  self->last = step;
  Py_DECREF(before);
}

bool tell(FollowerObject* self, StepObject* step, const Made& made) {
  const Held count(PyLong_FromLongLong(step->number));
  Py_INCREF(count.get());  // the list takes one
  if (PyList_SetItem(self->counts, static_cast<Py_ssize_t>(step->slot), count.get()) < 0) return false;
  arrive(self, reinterpret_cast<PyObject*>(step));
  if (step->forward && !ownNumber(self, step->entry)) return false;
  if (msdbg_record_ran(self->recording, step->node) < 0) {
    PyErr_SetString(PyExc_RuntimeError, msdbg_record_error());
    return false;
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::int64_t number = (*step->outputs)[i];
    const Held id(PyLong_FromLongLong(number));
    if (!nowShows(self, made[i], id.get()) || !lookAt(self, made[i], id.get(), number)) return false;
  }
  return true;
}

// `late` is Python's way for what has run already: (step, args, kwargs, out), None for what went wrong in
// telling: the exception is set then, which ends the recording and not the program.
bool giveLate(FollowerObject* self, StepObject* step, PyObject* args, PyObject* kwargs, PyObject* out) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Held done(PyObject_CallFunctionObjArgs(self->late, step ? step->entry : Py_None, args, kwargs, out,
                                               value ? value : Py_None, nullptr));
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return static_cast<bool>(done);
}

PyObject* runStep(FollowerObject* self, StepObject* step, PyObject* args, PyObject* kwargs) {
  const Held kept(reinterpret_cast<PyObject*>(step));
  Py_INCREF(kept.get());
  PyObject* out = PyObject_Call(step->func, args, kwargs == Py_None ? nullptr : kwargs);
  if (!out) return nullptr;
  Made made;
  const bool asKnown = gather(self, step, args, out, made);
  if (asKnown && tell(self, step, made)) return out;
  if (giveLate(self, step, args, kwargs, out)) return out;
  Py_DECREF(out);
  return nullptr;
}

PyObject* runFold(FollowerObject* self, PyObject* func, PyObject* args, PyObject* kwargs) {
  PyObject* out = PyObject_Call(func, args, kwargs == Py_None ? nullptr : kwargs);
  if (!out) return nullptr;
  const Held number(PyObject_CallObject(self->number, nullptr));
  if (number && PyLong_AsLongLong(number.get()) == self->seenNumber) return out;
  if (number && Held(PyObject_CallFunctionObjArgs(self->view, args, nullptr))) return out;
  Py_DECREF(out);
  return nullptr;
}

PyObject* call(PyObject* object, PyObject* given, PyObject*) {
  FollowerObject* self = followerOf(object);
  PyObject *func, *types, *args, *kwargs;
  if (!PyArg_ParseTuple(given, "OOOO", &func, &types, &args, &kwargs)) return nullptr;
  if (self->enabled) {
    if (self->folds->contains(func) && allPlain(self, types)) return runFold(self, func, args, kwargs);
    if (StepObject* step = expected(self, func, types, args, kwargs))
      return runStep(self, step, args, kwargs);
  }
  return PyObject_CallFunctionObjArgs(self->slow, func, types, args, kwargs, nullptr);
}

PyObject* addFold(PyObject* self, PyObject* func) {
  Py_INCREF(func);  // kept: it is torch's, and stays
  followerOf(self)->folds->insert(func);
  Py_RETURN_NONE;
}

// Python's way ran this one: what comes after it next time is compared with what came after it now.
PyObject* arrived(PyObject* object, PyObject* step) {
  FollowerObject* self = followerOf(object);
  if (!isStep(step)) return nullptr;
  auto* last = reinterpret_cast<StepObject*>(self->last);
  if (last->next != step) {
    self->changed = true;
    Py_INCREF(step);
    PyObject* before = last->next;
    last->next = step;
    Py_DECREF(before);
  }
  arrive(self, step);
  Py_RETURN_NONE;
}

// An iteration begins.
PyObject* restart(PyObject* object, PyObject* step) {
  if (!isStep(step)) return nullptr;
  followerOf(object)->changed = false;
  arrive(followerOf(object), step);
  Py_RETURN_NONE;
}

bool prepare() {
  const std::pair<PyObject**, const char*> names[] = {{&s_untypedStorage, "untyped_storage"},
                                                      {&s_cdata, "_cdata"},
                                                      {&s_weakRef, "_weak_ref"},
                                                      {&s_back, "f_back"},
                                                      {&s_code, "f_code"},
                                                      {&s_lasti, "f_lasti"},
                                                      {&s_dtype, "dtype"}};
  for (const auto& [where, name] : names)
    if (!*where && !(*where = PyUnicode_InternFromString(name))) return false;
  return true;
}

PyObject* makeFollower(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* given[16];
  if (!PyArg_ParseTuple(args, "OO!O!O!O!O!OOOOOOOOOO", &given[0], &PyTuple_Type, &given[1], &PyDict_Type,
                        &given[2], &PyList_Type, &given[3], &PyList_Type, &given[4], &PySet_Type, &given[5],
                        &given[6], &given[7], &given[8], &given[9], &given[10], &given[11], &given[12],
                        &given[13], &given[14], &given[15]))
    return nullptr;
  msdbg_recording* recording = recordingIn(given[0]);
  if (!recording || !isStep(given[15]) || !prepare()) return nullptr;
  PyObject* object = PyType_GenericAlloc(type, 0);
  if (!object) return nullptr;
  FollowerObject* self = followerOf(object);
  PyObject** const places[] = {&self->recordingObject,
                               &self->plain,
                               &self->ids,
                               &self->held,
                               &self->counts,
                               &self->seen,
                               &self->number,
                               &self->task,
                               &self->slow,
                               &self->late,
                               &self->view,
                               &self->own,
                               &self->see,
                               &self->outside,
                               &self->origin,
                               &self->last};
  for (std::size_t i = 0; i < std::size(places); ++i) {
    Py_INCREF(given[i]);
    *places[i] = given[i];
  }
  Py_INCREF(Py_None);
  self->scope = Py_None;
  self->recording = recording;
  self->folds = new std::unordered_set<PyObject*>();
  return object;
}

// One for a recording, which lives as long as the process: nothing is given back but the object itself.
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyMethodDef kMethods[] = {{"fold", addFold, METH_O, "fold(function): it only makes views"},
                          {"arrived", arrived, METH_O, "arrived(step): Python's way ran it"},
                          {"restart", restart, METH_O, "restart(step): an iteration begins after it"},
                          {nullptr, nullptr, 0, nullptr}};
PyMemberDef kMembers[] = {
    {"scope", T_OBJECT, offsetof(FollowerObject, scope), 0, "Where the program is."},
    {"last", T_OBJECT, offsetof(FollowerObject, last), READONLY, "The step that ran last."},
    {"seen_number", T_LONGLONG, offsetof(FollowerObject, seenNumber), 0, nullptr},
    {"enabled", T_BOOL, offsetof(FollowerObject, enabled), 0, nullptr},
    {"in_backward", T_BOOL, offsetof(FollowerObject, inBackward), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(makeFollower)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {Py_tp_doc, const_cast<char*>("Runs operators that are those of the iteration before.")},
    {0, nullptr}};
PyType_Spec kSpec = {"msdbg._record.Follower", sizeof(FollowerObject), 0, Py_TPFLAGS_DEFAULT, kSlots};

}  // namespace

PyObject* makeFollowerType() { return PyType_FromSpec(&kSpec); }

}  // namespace msdbg::python
