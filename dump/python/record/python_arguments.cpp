#include "dump/python/record/python_arguments.h"

#include <cmath>
#include <utility>

namespace msdbg::python {
namespace {

// Interned once: making a text for each look-up would cost more than the look-up.
PyObject *s_isCpu, *s_isContiguous, *s_dataPtr, *s_dtype, *s_shape;
PyObject* s_dumps;  // json.dumps

bool textOf(PyObject* unicode, std::string& text) {
  const Held bytes(PyUnicode_AsUTF8String(unicode));
  if (!bytes) return false;
  text = PyBytes_AsString(bytes.get());
  return true;
}

// Few are used, each many times; torch keeps its dtypes for ever.
std::vector<std::pair<PyObject*, std::int32_t>>& knownDtypes() {
  static std::vector<std::pair<PyObject*, std::int32_t>> known;
  return known;
}

bool findDtype(PyObject* dtype, std::int32_t& number) {
  const Held name(PyObject_Str(dtype));
  std::string text;
  if (!name || !textOf(name.get(), text)) return false;
  number = msdbg_record_dtype(text.c_str());
  if (number >= 0) return true;
  PyErr_Format(PyExc_ValueError, "%s cannot be recorded: there is no such type in a run", text.c_str());
  return false;
}

bool dimsOf(PyObject* shape, Value& value) {
  const Py_ssize_t rank = PyTuple_Size(shape);
  if (rank < 0) return false;
  if (rank > kMostDims) {
    PyErr_SetString(PyExc_ValueError, "a tensor of more than 64 dimensions cannot be recorded");
    return false;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) value.dims[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
  value.rank = static_cast<std::int32_t>(rank);
  return !PyErr_Occurred();
}

}  // namespace

bool prepareNames() {
  s_isCpu = PyUnicode_InternFromString("is_cpu");
  s_isContiguous = PyUnicode_InternFromString("is_contiguous");
  s_dataPtr = PyUnicode_InternFromString("data_ptr");
  s_dtype = PyUnicode_InternFromString("dtype");
  s_shape = PyUnicode_InternFromString("shape");
  const Held json(PyImport_ImportModule("json"));
  s_dumps = json ? PyObject_GetAttrString(json.get(), "dumps") : nullptr;
  return s_isCpu && s_isContiguous && s_dataPtr && s_dtype && s_shape && s_dumps;
}

bool numbersOf(PyObject* sequence, std::vector<std::int64_t>& numbers) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Held item(PySequence_GetItem(sequence, i));
    if (!item) return false;
    numbers.push_back(PyLong_AsLongLong(item.get()));
  }
  return !PyErr_Occurred();
}

PyObject* tupleOf(const std::vector<std::int64_t>& numbers) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  for (std::size_t i = 0; tuple && i < numbers.size(); ++i)
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  return tuple;
}

bool dtypeOf(PyObject* dtype, std::int32_t& number) {
  for (const auto& [known, its] : knownDtypes())
    if (known == dtype) return number = its, true;
  if (!findDtype(dtype, number)) return false;
  if (!PyUnicode_Check(dtype)) {  // a text's address may become another's
    Py_INCREF(dtype);
    knownDtypes().emplace_back(dtype, number);
  }
  return true;
}

namespace {

// JSON has no word for numbers that are not finite: an object stands for them.
PyObject* finiteOr(PyObject* value) {
  if (PyFloat_Check(value) && !std::isfinite(PyFloat_AsDouble(value)))
    return Py_BuildValue("{s:N}", "float", PyObject_Str(value));
  Py_INCREF(value);
  return value;
}

}  // namespace

bool jsonOf(PyObject* attributes, std::string& json) {
  if (PyDict_Size(attributes) == 0) return true;
  const Held plain(PyDict_New());
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (plain && PyDict_Next(attributes, &at, &name, &value)) {
    const Held finite(finiteOr(value));
    if (!finite || PyDict_SetItem(plain.get(), name, finite.get()) < 0) return false;
  }
  const Held text(PyObject_CallFunctionObjArgs(s_dumps, plain.get(), nullptr));
  return text && textOf(text.get(), json);
}

bool outputsOf(PyObject* sequence, Outputs& outputs) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  outputs.texts.reserve(static_cast<std::size_t>(count) * 2);  // they are pointed to
  outputs.dims.resize(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Held item(PySequence_GetItem(sequence, i));
    if (!item) return false;
    PyObject *dtype, *shape;
    const char *role, *alias;
    long long gradientOf, updateOf;
    if (!PyArg_ParseTuple(item.get(), "OOssLL", &dtype, &shape, &role, &alias, &gradientOf, &updateOf))
      return false;
    msdbg_tensor tensor{};
    std::vector<std::int64_t>& dims = outputs.dims[static_cast<std::size_t>(i)];
    if (!dtypeOf(dtype, tensor.dtype) || !numbersOf(shape, dims)) return false;
    tensor.role = outputs.texts.emplace_back(role).c_str();
    tensor.alias = outputs.texts.emplace_back(alias).c_str();
    tensor.dims = dims.data();
    tensor.rank = static_cast<std::int32_t>(dims.size());
    tensor.gradient_of = gradientOf;
    tensor.update_of = updateOf;
    outputs.tensors.push_back(tensor);
  }
  return true;
}

bool scalarsOf(PyObject* dict, Scalars& scalars) {
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(dict, &at, &name, &value)) {
    if (!textOf(name, scalars.texts.emplace_back())) return false;
    scalars.values.push_back(PyFloat_AsDouble(value));
    if (PyErr_Occurred()) return false;
  }
  for (const std::string& text : scalars.texts) scalars.names.push_back(text.c_str());
  return true;
}

Readable valueOf(PyObject* tensor, Value& value) {
  const Held isCpu(PyObject_GetAttr(tensor, s_isCpu));
  const Held isDense(isCpu ? PyObject_CallMethodObjArgs(tensor, s_isContiguous, nullptr) : nullptr);
  if (!isDense) return Readable::kError;
  if (isCpu.get() != Py_True || isDense.get() != Py_True) return Readable::kNo;
  const Held dtype(PyObject_GetAttr(tensor, s_dtype)), shape(PyObject_GetAttr(tensor, s_shape)),
      address(PyObject_CallMethodObjArgs(tensor, s_dataPtr, nullptr));
  if (!dtype || !shape || !address) return Readable::kError;
  if (!dtypeOf(dtype.get(), value.dtype) || !dimsOf(shape.get(), value)) return Readable::kError;
  value.data = PyLong_AsVoidPtr(address.get());
  return PyErr_Occurred() ? Readable::kError : Readable::kYes;
}

}  // namespace msdbg::python
