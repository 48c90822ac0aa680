#include "dump/python/record/follower.h"

#include <structmember.h>

#include "dump/python/record/follower_internal.h"
#include "dump/python/record/parts.h"

namespace msdbg::python {
namespace {

FollowerObject* followerOf(PyObject* self) { return reinterpret_cast<FollowerObject*>(self); }

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
  const bool asKnown = gatherMade(self, step, args, out, made);
  if (asKnown && tellStep(self, step, made) &&
      (!madeNonFinite(self, step) ||
       Held(PyObject_CallFunctionObjArgs(self->doubt, step->entry, args, kwargs, nullptr))))
    return out;
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
    if (StepObject* step = expectedStep(self, func, types, args, kwargs))
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
  arriveAt(self, step);
  Py_RETURN_NONE;
}

// An iteration begins.
PyObject* restart(PyObject* object, PyObject* step) {
  if (!isStep(step)) return nullptr;
  followerOf(object)->changed = false;
  arriveAt(followerOf(object), step);
  Py_RETURN_NONE;
}

// By name.
constexpr Part<FollowerObject> kParts[] = {{"recording", &FollowerObject::recordingObject, nullptr},
                                           {"plain", &FollowerObject::plain, &PyTuple_Type},
                                           {"ids", &FollowerObject::ids, &PyDict_Type},
                                           {"held", &FollowerObject::held, &PyList_Type},
                                           {"counts", &FollowerObject::counts, &PyList_Type},
                                           {"seen", &FollowerObject::seen, &PySet_Type},
                                           {"number", &FollowerObject::number, nullptr},
                                           {"task", &FollowerObject::task, nullptr},
                                           {"slow", &FollowerObject::slow, nullptr},
                                           {"late", &FollowerObject::late, nullptr},
                                           {"view", &FollowerObject::view, nullptr},
                                           {"own", &FollowerObject::own, nullptr},
                                           {"see", &FollowerObject::see, nullptr},
                                           {"outside", &FollowerObject::outside, nullptr},
                                           {"doubt", &FollowerObject::doubt, nullptr},
                                           {"origin", &FollowerObject::origin, nullptr},
                                           {"first", &FollowerObject::last, nullptr}};

PyObject* makeFollower(PyTypeObject* type, PyObject*, PyObject* given) {
  PyObject* object = PyType_GenericAlloc(type, 0);
  if (!object) return nullptr;
  FollowerObject* self = followerOf(object);
  self->folds = new std::unordered_set<PyObject*>();
  Py_INCREF(Py_None);
  self->scope = Py_None;
  if (takeParts("Follower", self, kParts, given) && isStep(self->last) && prepareFollowerNames() &&
      (self->recording = recordingIn(self->recordingObject)))
    return object;
  Py_DECREF(object);
  return nullptr;
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
