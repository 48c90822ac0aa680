#include "dump/python/record/step.h"

#include <structmember.h>

#include "dump/python/record/python_arguments.h"

namespace msdbg::python {
namespace {

PyTypeObject* s_type = nullptr;

StepObject* stepOf(PyObject* self) { return reinterpret_cast<StepObject*>(self); }

// Of ((position, item, tensor), …).
bool argumentsOf(PyObject* sequence, std::vector<Argument>& arguments) {
  const Py_ssize_t count = PySequence_Size(sequence);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Held row(PySequence_GetItem(sequence, i));
    Argument argument;
    long long tensor = -1;
    if (!row || !PyArg_ParseTuple(row.get(), "nnL", &argument.position, &argument.item, &tensor))
      return false;
    argument.tensor = tensor;
    arguments.push_back(argument);
  }
  return count >= 0;
}

bool objectsOf(PyObject* sequence, std::vector<PyObject*>& objects) {
  const Py_ssize_t count = PySequence_Size(sequence);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    if (!item) return false;
    objects.push_back(item);  // kept
  }
  return count >= 0;
}

PyObject* held(PyObject* object) {
  Py_INCREF(object);
  return object;
}

PyObject* makeStep(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *entry, *func, *scope, *place, *reads, *writes, *outputs, *dtypes;
  long long node, slot, number;
  int simple, forward;
  if (!PyArg_ParseTuple(args, "OOOOLLLppOOOO", &entry, &func, &scope, &place, &node, &slot, &number, &simple,
                        &forward, &reads, &writes, &outputs, &dtypes))
    return nullptr;
  PyObject* self = PyType_GenericAlloc(type, 0);
  if (!self) return nullptr;
  StepObject* step = stepOf(self);
  step->entry = held(entry);
  step->func = held(func);
  step->scope = held(scope);
  step->place = held(place);
  step->next = held(Py_None);
  step->node = node;
  step->slot = slot;
  step->number = number;
  step->simple = simple != 0;
  step->forward = forward != 0;
  step->reads = new std::vector<Argument>();
  step->writes = new std::vector<Argument>();
  step->outputs = new std::vector<std::int64_t>();
  step->dtypes = new std::vector<PyObject*>();
  if (argumentsOf(reads, *step->reads) && argumentsOf(writes, *step->writes) &&
      numbersOf(outputs, *step->outputs) && objectsOf(dtypes, *step->dtypes))
    return self;
  Py_DECREF(self);
  return nullptr;
}

void dealloc(PyObject* self) {
  StepObject* step = stepOf(self);
  for (PyObject* object : {step->entry, step->func, step->scope, step->place, step->next}) Py_XDECREF(object);
  if (step->dtypes)
    for (PyObject* dtype : *step->dtypes) Py_DECREF(dtype);
  delete step->reads;
  delete step->writes;
  delete step->outputs;
  delete step->dtypes;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyMemberDef kMembers[] = {{"entry", T_OBJECT, offsetof(StepObject, entry), READONLY, nullptr},
                          {"next", T_OBJECT, offsetof(StepObject, next), 0,
                           "The step that came after it when it ran last, or None."},
                          {"simple", T_BOOL, offsetof(StepObject, simple), 0,
                           "Whether the follower may run it; not where its node has other inputs by now."},
                          {nullptr, 0, 0, 0, nullptr}};
PyType_Slot kSlots[] = {{Py_tp_new, reinterpret_cast<void*>(makeStep)},
                        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                        {Py_tp_members, kMembers},
                        {Py_tp_doc, const_cast<char*>("One operator, as the follower knows it.")},
                        {0, nullptr}};
PyType_Spec kSpec = {"msdbg._record.Step", sizeof(StepObject), 0, Py_TPFLAGS_DEFAULT, kSlots};

}  // namespace

PyObject* makeStepType() {
  PyObject* type = PyType_FromSpec(&kSpec);
  s_type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

bool isStep(PyObject* object) {
  if (Py_TYPE(object) == s_type) return true;
  PyErr_SetString(PyExc_TypeError, "a msdbg._record.Step is wanted");
  return false;
}

}  // namespace msdbg::python
