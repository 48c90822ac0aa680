#include "dump/python/record/turns.h"

#include <memory>
#include <utility>
#include <vector>

#include "dump/python/record/follower.h"
#include "dump/python/record/parts.h"
#include "dump/python/record/shown.h"

namespace msdbg::python {
namespace {

PyObject *s_dtype, *s_shape, *s_layout, *s_grad;

PyObject* held(PyObject* object) {
  Py_XINCREF(object);
  return object;
}

/// What makes two tensors' records alike. The objects are torch's own: few, and they stay.
class Kind {
 public:
  explicit Kind(PyObject* tensor)
      : m_dtype(PyObject_GetAttr(tensor, s_dtype)),
        m_layout(m_dtype ? PyObject_GetAttr(tensor, s_layout) : nullptr),
        m_shape(m_layout ? PyObject_GetAttr(tensor, s_shape) : nullptr) {}
  Kind(Kind&& other) noexcept
      : m_dtype(std::exchange(other.m_dtype, nullptr)),
        m_layout(std::exchange(other.m_layout, nullptr)),
        m_shape(std::exchange(other.m_shape, nullptr)) {}
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  Kind& operator=(Kind&& other) noexcept {
    std::swap(m_dtype, other.m_dtype);
    std::swap(m_layout, other.m_layout);
    std::swap(m_shape, other.m_shape);
    return *this;
  }
  ~Kind() {
    for (PyObject* object : {m_dtype, m_layout, m_shape}) Py_XDECREF(object);
  }
  explicit operator bool() const { return m_shape != nullptr; }
  /// Of a tensor. No exception is left.
  bool is(PyObject* tensor) const {
    const Kind its(tensor);
    if (!its) return no();
    if (its.m_dtype != m_dtype || its.m_layout != m_layout) return false;
    const int same = PyObject_RichCompareBool(its.m_shape, m_shape, Py_EQ);
    return same < 0 ? no() : same == 1;
  }

 private:
  PyObject *m_dtype, *m_layout, *m_shape;
};

struct State {
  PyObject* name;  // its key in the optimizer's state of the parameter
  Kind kind;
  std::int64_t source;
};

/// A parameter's turn as it was when Python told it.
struct Turn {
  PyObject* owner;  // the parameter by Python's names; None: its values are an earlier turn's
  Kind kind;        // of parameter and gradient
  std::int64_t now, made, gradientNode, gradient, updateNode;  // made: -1 where nothing is known of it
  bool exact;                                                  // the gradient's storage tells what made it
  std::vector<std::int64_t> outputs;                           // the parameter's new value, its states'
  Py_ssize_t stateSize;  // entries of the state, with those that are no tensors
  std::vector<State> states;
};

struct TurnsObject {
  PyObject_HEAD PyObject *recordingObject, *plain, *ids, *held, *seen, *see, *parameters;
  msdbg_recording* recording;
  std::vector<std::unique_ptr<Turn>>* all;
};

TurnsObject* turnsOf(PyObject* self) { return reinterpret_cast<TurnsObject*>(self); }
Shown shownOf(const TurnsObject* self) {
  return {self->recording, self->ids, self->held, self->seen, self->see};
}

bool isPlainTensor(const TurnsObject* self, PyObject* tensor) {
  return isPlain(self->plain, reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
}

bool statesOf(PyObject* sequence, std::vector<State>& states) {
  const Py_ssize_t count = PySequence_Size(sequence);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Held row(PySequence_GetItem(sequence, i));
    PyObject *name, *tensor;
    long long source;
    if (!row || !PyArg_ParseTuple(row.get(), "OOL", &name, &tensor, &source)) return false;
    Kind kind(tensor);
    if (!kind) return false;
    states.push_back({held(name), std::move(kind), source});
  }
  return count >= 0;
}

// (turn or -1, owner, tensor, now, made, exact, gradient's node, gradient, update's node, outputs, size of
// the state, ((name, tensor, source), …)) -> turn
PyObject* learn(PyObject* object, PyObject* args) {
  long long at, now, made, gradientNode, gradient, updateNode;
  Py_ssize_t stateSize;
  int exact;
  PyObject *owner, *tensor, *outputs, *states;
  if (!PyArg_ParseTuple(args, "LOOLLpLLLOnO", &at, &owner, &tensor, &now, &made, &exact, &gradientNode,
                        &gradient, &updateNode, &outputs, &stateSize, &states))
    return nullptr;
  Kind kind(tensor);
  if (!kind) return nullptr;
  std::unique_ptr<Turn> turn(new Turn{held(owner),
                                      std::move(kind),
                                      now,
                                      made,
                                      gradientNode,
                                      gradient,
                                      updateNode,
                                      exact != 0,
                                      {},
                                      stateSize,
                                      {}});
  if (!numbersOf(outputs, turn->outputs) || !statesOf(states, turn->states)) return nullptr;
  if (turn->outputs.size() != turn->states.size() + 1) {
    PyErr_SetString(PyExc_ValueError, "Turns.learn: one output for the parameter and one for each state");
    return nullptr;
  }
  auto& all = *turnsOf(object)->all;
  if (at < 0 || static_cast<std::size_t>(at) >= all.size()) {
    at = static_cast<long long>(all.size());
    all.emplace_back();
  }
  all[static_cast<std::size_t>(at)] = std::move(turn);
  return PyLong_FromLongLong(at);
}

// nullptr, without an exception: there is none.
Turn* turnAt(const TurnsObject* self, long long at) {
  if (at < 0 || static_cast<std::size_t>(at) >= self->all->size()) return nullptr;
  return (*self->all)[static_cast<std::size_t>(at)].get();
}

// What the dictionary says; `missing` where it says nothing.
std::int64_t numberIn(PyObject* ids, PyObject* key, std::int64_t missing) {
  PyObject* known = PyDict_GetItem(ids, key);
  return known ? PyLong_AsLongLong(known) : missing;
}

/// What Python would find of a parameter and its gradient, if it is what was learned.
struct Reading {
  Held gradient;
  Storage storage;
  bool shown;  // the parameter was met in this iteration
};

constexpr std::int64_t kNotMet = -2;

bool isAsLearned(const TurnsObject* self, const Turn& turn, PyObject* tensor, const Reading& found,
                 std::int64_t made, std::int64_t shows) {
  if (!isPlainTensor(self, tensor) || !isPlainTensor(self, found.gradient.get())) return false;
  if (!turn.kind.is(tensor) || !turn.kind.is(found.gradient.get())) return false;
  return made == turn.made && (shows == turn.now || (shows == kNotMet && turn.owner != Py_None));
}

std::int64_t madeBy(const TurnsObject* self, const Turn& turn, PyObject* gradient, std::int64_t otherwise) {
  if (!turn.exact) return otherwise;
  const Storage storage(gradient);
  if (!storage) return no(), kNotMet;
  return numberIn(self->ids, storage.key(), otherwise);
}

bool tellGradient(const TurnsObject* self, const Turn& turn, PyObject* gradient) {
  const Shown shown = shownOf(self);
  if (msdbg_record_ran(self->recording, turn.gradientNode) < 0) return recorderFailed();
  const Held id(PyLong_FromLongLong(turn.gradient)), made(PyLong_FromLongLong(turn.made));
  if (turn.exact && turn.made >= 0 && PySet_Contains(self->seen, made.get()) == 1) {
    if (PySet_Add(self->seen, id.get()) < 0) return false;
    return msdbg_record_saw_same(self->recording, turn.gradient, turn.made) == 0 || recorderFailed();
  }
  return lookAt(shown, gradient, id.get(), turn.gradient);
}

bool tellParameter(const TurnsObject* self, const Turn& turn, PyObject* tensor, const Reading& found) {
  if (found.shown) return true;
  const Shown shown = shownOf(self);
  const Held id(PyLong_FromLongLong(turn.now));
  return PyDict_SetItem(self->parameters, id.get(), turn.owner) == 0 &&
         nowShows(shown, found.storage, id.get()) && lookAt(shown, tensor, id.get(), turn.now);
}

bool keep(const TurnsObject* self, const Turn& turn, PyObject* tensor) {
  Value value;
  const Readable readable = valueOf(tensor, value);
  if (readable != Readable::kYes) return readable == Readable::kNo;
  return msdbg_record_keep(self->recording, turn.now, value.data, value.dtype, value.dims, value.rank) == 0 ||
         recorderFailed();
}

// (turn, parameter, what made the gradient or None) -> False: not as it was, nothing was told.
PyObject* read(PyObject* object, PyObject* args) {
  const TurnsObject* self = turnsOf(object);
  long long at;
  PyObject *tensor, *made;
  if (!PyArg_ParseTuple(args, "LOO", &at, &tensor, &made)) return nullptr;
  const Turn* turn = turnAt(self, at);
  if (!turn) Py_RETURN_FALSE;
  Reading found{Held(PyObject_GetAttr(tensor, s_grad)), Storage(tensor), false};
  if (!found.gradient || !found.storage) {
    no();
    Py_RETURN_FALSE;
  }
  const std::int64_t otherwise = made == Py_None ? -1 : PyLong_AsLongLong(made);
  const std::int64_t shows = numberIn(self->ids, found.storage.key(), kNotMet);
  found.shown = shows != kNotMet;
  if (!isAsLearned(self, *turn, tensor, found, madeBy(self, *turn, found.gradient.get(), otherwise), shows))
    Py_RETURN_FALSE;
  if (!tellParameter(self, *turn, tensor, found) || !tellGradient(self, *turn, found.gradient.get()) ||
      !keep(self, *turn, tensor))
    return nullptr;
  Py_RETURN_TRUE;
}

// The states, borrowed. False: others than before; no exception is left.
bool statesIn(const TurnsObject* self, const Turn& turn, PyObject* state, std::vector<PyObject*>& written) {
  if (PyDict_Size(state) != turn.stateSize) return no();
  for (const State& wanted : turn.states) {
    PyObject* tensor = PyDict_GetItem(state, wanted.name);
    if (!tensor || !isPlainTensor(self, tensor) || !wanted.kind.is(tensor)) return false;
    const Storage storage(tensor);
    if (!storage) return no();
    if (numberIn(self->ids, storage.key(), wanted.source) != wanted.source) return false;
    written.push_back(tensor);
  }
  return true;
}

// (turn, parameter, its state) -> False: not as it was, nothing was told.
PyObject* write(PyObject* object, PyObject* args) {
  const TurnsObject* self = turnsOf(object);
  long long at;
  PyObject *tensor, *state;
  if (!PyArg_ParseTuple(args, "LOO", &at, &tensor, &state)) return nullptr;
  const Turn* turn = turnAt(self, at);
  std::vector<PyObject*> written{tensor};
  if (!turn || !PyDict_Check(state) || !turn->kind.is(tensor) || !statesIn(self, *turn, state, written))
    Py_RETURN_FALSE;
  if (msdbg_record_ran(self->recording, turn->updateNode) < 0) return recorderFailed(), nullptr;
  const Shown shown = shownOf(self);
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Held id(PyLong_FromLongLong(turn->outputs[i]));
    const Storage storage(written[i]);
    if (!storage || !nowShows(shown, storage, id.get()) ||
        !lookAt(shown, written[i], id.get(), turn->outputs[i]))
      return nullptr;
  }
  Py_RETURN_TRUE;
}

// By name.
constexpr Part<TurnsObject> kParts[] = {{"recording", &TurnsObject::recordingObject, nullptr},
                                        {"plain", &TurnsObject::plain, &PyTuple_Type},
                                        {"ids", &TurnsObject::ids, &PyDict_Type},
                                        {"held", &TurnsObject::held, &PyList_Type},
                                        {"seen", &TurnsObject::seen, &PySet_Type},
                                        {"see", &TurnsObject::see, nullptr},
                                        {"parameters", &TurnsObject::parameters, &PyDict_Type}};

PyObject* makeTurns(PyTypeObject* type, PyObject*, PyObject* given) {
  PyObject* object = PyType_GenericAlloc(type, 0);
  if (!object) return nullptr;
  TurnsObject* self = turnsOf(object);
  self->all = new std::vector<std::unique_ptr<Turn>>();
  if (takeParts("Turns", self, kParts, given) && (self->recording = recordingIn(self->recordingObject)))
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

PyMethodDef kMethods[] = {
    {"learn", learn, METH_VARARGS,
     "learn(turn or -1, owner, tensor, now, made, exact, gradient_node, gradient, update_node, outputs, "
     "state_size, states) -> turn"},
    {"read", read, METH_VARARGS, "read(turn, tensor, made) -> False: not as it was, nothing was told"},
    {"write", write, METH_VARARGS, "write(turn, tensor, state) -> as read"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(makeTurns)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, kMethods},
    {Py_tp_doc, const_cast<char*>("Parameters in steps of optimizers, as they were before.")},
    {0, nullptr}};
PyType_Spec kSpec = {"msdbg._record.Turns", sizeof(TurnsObject), 0, Py_TPFLAGS_DEFAULT, kSlots};

}  // namespace

PyObject* makeTurnsType() {
  s_dtype = PyUnicode_InternFromString("dtype");
  s_shape = PyUnicode_InternFromString("shape");
  s_layout = PyUnicode_InternFromString("layout");
  s_grad = PyUnicode_InternFromString("grad");
  return s_dtype && s_shape && s_layout && s_grad ? PyType_FromSpec(&kSpec) : nullptr;
}

}  // namespace msdbg::python
