// What Python gives and gets: numbers, outputs of nodes, tensors by their own methods. False or kError: a
// Python exception is set. With the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "dump/python/record/msdbg_record.h"

namespace msdbg::python {

/// A reference that ends with its scope.
class Held {
 public:
  explicit Held(PyObject* object) : m_object(object) {}  // a new reference, or nullptr
  ~Held() { Py_XDECREF(m_object); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  PyObject* get() const { return m_object; }
  explicit operator bool() const { return m_object != nullptr; }

 private:
  PyObject* m_object;
};

/// Once, before all else.
bool prepareNames();

bool numbersOf(PyObject* sequence, std::vector<std::int64_t>& numbers);
PyObject* tupleOf(const std::vector<std::int64_t>& numbers);
/// Of a torch.dtype, or a text. ValueError: recordings have no such type.
bool dtypeOf(PyObject* dtype, std::int32_t& number);
bool jsonOf(PyObject* attributes, std::string& json);

struct Outputs {
  std::vector<msdbg_tensor> tensors;
  std::vector<std::string> texts;  // that they point to, as dims
  std::vector<std::vector<std::int64_t>> dims;
};
/// Of ((dtype, shape, role, alias, gradient_of, update_of), …).
bool outputsOf(PyObject* sequence, Outputs& outputs);

struct Scalars {
  std::vector<std::string> texts;
  std::vector<const char*> names;
  std::vector<double> values;
};
bool scalarsOf(PyObject* dict, Scalars& scalars);

constexpr int kMostDims = 64;  // as torch has them
struct Value {
  const void* data = nullptr;
  std::int32_t dtype = 0;
  std::int64_t dims[kMostDims];
  std::int32_t rank = 0;
};
enum class Readable { kYes, kNo, kError };
/// kNo: not dense and row-major, or not in the host's memory.
Readable valueOf(PyObject* tensor, Value& value);

}  // namespace msdbg::python
