// What a known operator has done: told to the recorder, and its values looked at.
#include <algorithm>

#include "dump/python/record/follower_internal.h"

namespace msdbg::python {
namespace {

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

}  // namespace

void arriveAt(FollowerObject* self, PyObject* step) {
  Py_INCREF(step);
  PyObject* before = self->last;
  self->last = step;
  Py_DECREF(before);
}

bool tellStep(FollowerObject* self, StepObject* step, const Made& made) {
  const Held count(PyLong_FromLongLong(step->number));
  Py_INCREF(count.get());  // the list takes one
  if (PyList_SetItem(self->counts, static_cast<Py_ssize_t>(step->slot), count.get()) < 0) return false;
  arriveAt(self, reinterpret_cast<PyObject*>(step));
  if (step->forward && !ownNumber(self, step->entry)) return false;
  if (msdbg_record_ran(self->recording, step->node) < 0) return recorderFailed();
  const Shown shown{self->recording, self->ids, self->held, self->seen, self->see};
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::int64_t number = (*step->outputs)[i];
    const Held id(PyLong_FromLongLong(number));
    const Storage storage(made[i]);
    if (!storage || !nowShows(shown, storage, id.get()) || !lookAt(shown, made[i], id.get(), number))
      return false;
  }
  return true;
}

bool madeNonFinite(const FollowerObject* self, const StepObject* step) {
  const auto isFinite = [&](std::int64_t tensor) { return msdbg_record_is_finite(self->recording, tensor); };
  return std::ranges::any_of(*step->outputs, [&](std::int64_t output) { return isFinite(output) == 0; }) &&
         std::ranges::none_of(*step->reads, [&](const Argument& read) { return isFinite(read.tensor) == 0; });
}

}  // namespace msdbg::python
