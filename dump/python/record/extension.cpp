// msdbg._record: the C functions of msdbg_record.h as Python calls them (stable ABI from 3.9: one binary for
// all). Tensors are asked by their own methods (data_ptr, dtype, shape): no header of torch.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "dump/python/record/follower.h"
#include "dump/python/record/msdbg_record.h"
#include "dump/python/record/python_arguments.h"
#include "dump/python/record/shown.h"
#include "dump/python/record/step.h"
#include "dump/python/record/turns.h"

namespace {

using namespace msdbg::python;

struct RecordingObject {
  PyObject_HEAD msdbg_recording* recording;
};

msdbg_recording* recordingOf(PyObject* self) { return reinterpret_cast<RecordingObject*>(self)->recording; }

PyObject* failed() {
  PyErr_SetString(PyExc_RuntimeError, msdbg_record_error());
  return nullptr;
}

PyObject* noneOr(int status) {
  if (status < 0) return failed();
  Py_RETURN_NONE;
}

PyObject* idOr(std::int64_t id) { return id < 0 ? failed() : PyLong_FromLongLong(id); }

PyObject* runId(PyObject* self, PyObject*) {
  return PyUnicode_FromString(msdbg_record_run_id(recordingOf(self)));
}

PyObject* active(PyObject* self, PyObject*) {
  return PyBool_FromLong(msdbg_record_active(recordingOf(self)));
}

PyObject* frame(PyObject* self, PyObject* args) {
  const char *file, *function, *code;
  int line, engine;
  if (!PyArg_ParseTuple(args, "sissp", &file, &line, &function, &code, &engine)) return nullptr;
  return idOr(msdbg_record_frame(recordingOf(self), file, line, function, code, engine));
}

// (name, dtype, shape, role, alias, trainable, frames)
PyObject* source(PyObject* self, PyObject* args) {
  const char *name, *role, *alias;
  PyObject *dtype, *shape, *frames;
  int trainable;
  if (!PyArg_ParseTuple(args, "sOOsspO", &name, &dtype, &shape, &role, &alias, &trainable, &frames))
    return nullptr;
  std::vector<std::int64_t> dims, frameIds;
  msdbg_tensor tensor{};
  if (!numbersOf(shape, dims) || !numbersOf(frames, frameIds) || !dtypeOf(dtype, tensor.dtype))
    return nullptr;
  tensor.name = name;
  tensor.role = role;
  tensor.alias = alias;
  tensor.trainable = trainable;
  tensor.dims = dims.data();
  tensor.rank = static_cast<std::int32_t>(dims.size());
  tensor.frames = frameIds.data();
  tensor.frame_count = static_cast<std::int32_t>(frameIds.size());
  tensor.gradient_of = tensor.update_of = -1;
  return idOr(msdbg_record_source(recordingOf(self), &tensor));
}

PyObject* node(PyObject* self, PyObject* args) {
  const char *name, *domain, *type, *phase;
  PyObject *inputs, *outputs, *attributes, *frames;
  long long derivedFrom;
  if (!PyArg_ParseTuple(args, "ssssOOOOL", &name, &domain, &type, &phase, &inputs, &outputs, &attributes,
                        &frames, &derivedFrom))
    return nullptr;
  std::vector<std::int64_t> inputIds, frameIds;
  Outputs wanted;
  std::string json;
  if (!numbersOf(inputs, inputIds) || !numbersOf(frames, frameIds) || !outputsOf(outputs, wanted) ||
      !jsonOf(attributes, json))
    return nullptr;
  msdbg_node defined{};
  defined.name = name;
  defined.domain = domain;
  defined.type = type;
  defined.phase = phase;
  defined.attributes = json.c_str();
  defined.inputs = inputIds.data();
  defined.input_count = static_cast<std::int32_t>(inputIds.size());
  defined.outputs = wanted.tensors.data();
  defined.output_count = static_cast<std::int32_t>(wanted.tensors.size());
  defined.frames = frameIds.data();
  defined.frame_count = static_cast<std::int32_t>(frameIds.size());
  defined.derived_from = derivedFrom;
  std::vector<std::int64_t> ids(wanted.tensors.size());
  const std::int64_t id = msdbg_record_node(recordingOf(self), &defined, ids.data());
  if (id < 0) return failed();
  PyObject* tuple = tupleOf(ids);
  return tuple ? Py_BuildValue("LN", static_cast<long long>(id), tuple) : nullptr;
}

PyObject* role(PyObject* self, PyObject* args) {
  long long tensor;
  const char* name;
  if (!PyArg_ParseTuple(args, "Ls", &tensor, &name)) return nullptr;
  return noneOr(msdbg_record_role(recordingOf(self), tensor, name));
}

PyObject* device(PyObject* self, PyObject* args) {
  long long tensor;
  const char* name;
  if (!PyArg_ParseTuple(args, "Ls", &tensor, &name)) return nullptr;
  return noneOr(msdbg_record_device(recordingOf(self), tensor, name));
}

PyObject* mesh(PyObject* self, PyObject* args) {
  const char* axis;
  int index, size;
  if (!PyArg_ParseTuple(args, "sii", &axis, &index, &size)) return nullptr;
  return noneOr(msdbg_record_mesh(recordingOf(self), axis, index, size));
}

PyObject* module(PyObject* self, PyObject* args) {
  const char *path, *className;
  if (!PyArg_ParseTuple(args, "ss", &path, &className)) return nullptr;
  return noneOr(msdbg_record_module(recordingOf(self), path, className));
}

PyObject* begin(PyObject* self, PyObject* iteration) {
  const long long number = PyLong_AsLongLong(iteration);
  return PyErr_Occurred() ? nullptr : noneOr(msdbg_record_begin(recordingOf(self), number));
}

PyObject* ran(PyObject* self, PyObject* node) {
  const long long id = PyLong_AsLongLong(node);
  return PyErr_Occurred() ? nullptr : noneOr(msdbg_record_ran(recordingOf(self), id));
}

// ran_before(node, reader, inputs)
PyObject* ranBefore(PyObject* self, PyObject* args) {
  long long node, reader;
  PyObject* inputs;
  std::vector<std::int64_t> ids;
  if (!PyArg_ParseTuple(args, "LLO", &node, &reader, &inputs) || !numbersOf(inputs, ids)) return nullptr;
  return noneOr(msdbg_record_ran_before(recordingOf(self), node, reader, ids.data(),
                                        static_cast<std::int32_t>(ids.size())));
}

// None: nothing was seen of it in this iteration.
PyObject* isFinite(PyObject* self, PyObject* tensor) {
  const long long id = PyLong_AsLongLong(tensor);
  if (PyErr_Occurred()) return nullptr;
  const int finite = msdbg_record_is_finite(recordingOf(self), id);
  if (finite < 0) Py_RETURN_NONE;
  return PyBool_FromLong(finite);
}

// None: it cannot be said.
PyObject* isSame(PyObject* self, PyObject* args) {
  long long tensor;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "LO", &tensor, &value)) return nullptr;
  Value now;
  const Readable readable = valueOf(value, now);
  if (readable == Readable::kError) return nullptr;
  const int same = readable == Readable::kNo ? -1
                                             : msdbg_record_is_same(recordingOf(self), tensor, now.data,
                                                                    now.dtype, now.dims, now.rank);
  if (same < 0) Py_RETURN_NONE;
  return PyBool_FromLong(same);
}

using Look = int (*)(msdbg_recording*, std::int64_t, const void*, std::int32_t, const std::int64_t*,
                     std::int32_t);

// True; False where the tensor cannot be read as it lies.
PyObject* look(PyObject* self, PyObject* args, Look take) {
  long long tensor;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "LO", &tensor, &value)) return nullptr;
  Value seen;
  switch (valueOf(value, seen)) {
    case Readable::kError:
      return nullptr;
    case Readable::kNo:
      Py_RETURN_FALSE;
    case Readable::kYes:
      break;
  }
  const int status = take(recordingOf(self), tensor, seen.data, seen.dtype, seen.dims, seen.rank);
  if (status < 0) return failed();
  Py_RETURN_TRUE;
}

PyObject* saw(PyObject* self, PyObject* args) { return look(self, args, msdbg_record_saw); }
PyObject* keep(PyObject* self, PyObject* args) { return look(self, args, msdbg_record_keep); }

PyObject* sawSame(PyObject* self, PyObject* args) {
  long long tensor, other;
  if (!PyArg_ParseTuple(args, "LL", &tensor, &other)) return nullptr;
  return noneOr(msdbg_record_saw_same(recordingOf(self), tensor, other));
}

// The disk may make it wait: other threads go on.
PyObject* end(PyObject* self, PyObject* scalars) {
  Scalars given;
  if (!scalarsOf(scalars, given)) return nullptr;
  int status = 0;
  Py_BEGIN_ALLOW_THREADS;
  status = msdbg_record_end(recordingOf(self), given.names.data(), given.values.data(),
                            static_cast<std::int32_t>(given.names.size()));
  Py_END_ALLOW_THREADS;
  return noneOr(status);
}

PyObject* metric(PyObject* self, PyObject* args) {
  const char* name;
  double value;
  if (!PyArg_ParseTuple(args, "sd", &name, &value)) return nullptr;
  return noneOr(msdbg_record_metric(recordingOf(self), name, value));
}

PyObject* failedAt(PyObject* self, PyObject* args) {
  long long node = -1;
  if (!PyArg_ParseTuple(args, "L", &node)) return nullptr;
  return noneOr(msdbg_record_failed_at(recordingOf(self), node));
}

PyObject* finish(PyObject* self, PyObject* args) {
  const char *state, *message;
  int exitStatus = -1;
  if (!PyArg_ParseTuple(args, "ss|i", &state, &message, &exitStatus)) return nullptr;
  const std::string how = state, why = message;
  int status = 0;
  Py_BEGIN_ALLOW_THREADS;
  status = msdbg_record_finish(recordingOf(self), how.c_str(), why.c_str(), exitStatus);
  Py_END_ALLOW_THREADS;
  return noneOr(status);
}

// None: nobody asked to stop.
PyObject* stopHit(PyObject* self, PyObject*) {
  const char* hit = msdbg_record_stop_hit(recordingOf(self));
  if (!hit) Py_RETURN_NONE;
  return PyUnicode_FromString(hit);
}

PyObject* finishOnHit(PyObject* self, PyObject* args) {
  const char* text;
  if (!PyArg_ParseTuple(args, "s", &text)) return nullptr;
  const std::string hit = text;
  int status = 0;
  Py_BEGIN_ALLOW_THREADS;
  status = msdbg_record_finish_on_hit(recordingOf(self), hit.c_str());
  Py_END_ALLOW_THREADS;
  return noneOr(status);
}

PyObject* child(PyObject* self, PyObject*) {
  msdbg_record_child(recordingOf(self));
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"run_id", runId, METH_NOARGS, "The run's id."},
    {"active", active, METH_NOARGS, "Whether the recorder still records."},
    {"frame", frame, METH_VARARGS, "frame(file, line, function, code, engine) -> id"},
    {"source", source, METH_VARARGS,
     "source(name, dtype, shape, role, alias, trainable, frames) -> tensor id"},
    {"node", node, METH_VARARGS,
     "node(name, domain, type, phase, inputs, outputs, attributes, frames, derived_from) -> (id, tensor "
     "ids)"},
    {"role", role, METH_VARARGS, "role(tensor, role)"},
    {"mesh", mesh, METH_VARARGS, "mesh(axis, index, size): where this rank stands"},
    {"device", device, METH_VARARGS, "device(tensor, name): where it lies"},
    {"module", module, METH_VARARGS, "module(path, class_name)"},
    {"begin", begin, METH_O, "begin(iteration)"},
    {"ran", ran, METH_O, "ran(node)"},
    {"ran_before", ranBefore, METH_VARARGS, "ran_before(node, reader that ran already, what that reads)"},
    {"is_finite", isFinite, METH_O, "is_finite(tensor) -> None: not seen in this iteration"},
    {"is_same", isSame, METH_VARARGS,
     "is_same(tensor, value): as what was seen of it in this iteration; None: it cannot be said"},
    {"saw", saw, METH_VARARGS, "saw(tensor, value) -> False: not contiguous, or not in the host's memory"},
    {"saw_same", sawSame, METH_VARARGS, "saw_same(tensor, other)"},
    {"keep", keep, METH_VARARGS, "keep(tensor, value) -> as saw"},
    {"end", end, METH_O, "end({name: number})"},
    {"metric", metric, METH_VARARGS, "metric(name, number): beside the last complete iteration"},
    {"failed_at", failedAt, METH_VARARGS, "failed_at(node)"},
    {"finish", finish, METH_VARARGS, "finish(state, message, exit_status=-1)"},
    {"stop_hit", stopHit, METH_NOARGS, "The hit that ends the training (--stop-on-hit) -> \"\": none yet"},
    {"finish_on_hit", finishOnHit, METH_VARARGS, "finish_on_hit(hit): of this rank or another"},
    {"child", child, METH_NOARGS, "In a forked child: the run stays the parent's."},
    {nullptr, nullptr, 0, nullptr}};

// The recording itself is never freed: threads of the program may be in it until the process ends.
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyType_Slot kSlots[] = {{Py_tp_methods, kMethods},
                        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                        {Py_tp_doc, const_cast<char*>("One rank of a run that is being recorded.")},
                        {0, nullptr}};
PyType_Spec kSpec = {"msdbg._record.Recording", sizeof(RecordingObject), 0, Py_TPFLAGS_DEFAULT, kSlots};

PyTypeObject* s_recordingType = nullptr;

PyObject* open(PyObject*, PyObject* settings) {
  PyObject* bytes = PyUnicode_AsUTF8String(settings);
  if (!bytes) return nullptr;
  msdbg_recording* recording = msdbg_record_open(PyBytes_AsString(bytes));
  Py_DECREF(bytes);
  if (!recording) return failed();
  PyObject* self = PyType_GenericAlloc(s_recordingType, 0);
  if (self) reinterpret_cast<RecordingObject*>(self)->recording = recording;
  return self;
}

PyMethodDef kFunctions[] = {{"open", open, METH_O, "open(settings: JSON text) -> Recording"},
                            {nullptr, nullptr, 0, nullptr}};
PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "_record",
                       "The recorder, as msdbg's Python package uses it.",
                       -1,
                       kFunctions,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

bool addType(PyObject* module, const char* name, PyObject* type) {
  return type && PyModule_AddObject(module, name, type) == 0;
}

}  // namespace

msdbg_recording* msdbg::python::recordingIn(PyObject* object) {
  if (Py_TYPE(object) == s_recordingType) return recordingOf(object);
  PyErr_SetString(PyExc_TypeError, "a msdbg._record.Recording is wanted");
  return nullptr;
}

PyMODINIT_FUNC PyInit__record() {
  PyObject* module = PyModule_Create(&kModule);
  PyObject* recording = PyType_FromSpec(&kSpec);
  s_recordingType = reinterpret_cast<PyTypeObject*>(recording);
  if (module && prepareNames() && prepareStorageNames() && addType(module, "Recording", recording) &&
      addType(module, "Step", makeStepType()) && addType(module, "Follower", makeFollowerType()) &&
      addType(module, "Turns", makeTurnsType()))
    return module;
  Py_XDECREF(module);
  return nullptr;
}
