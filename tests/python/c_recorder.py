"""libmsdbg_record.so by ctypes, with the methods that msdbg._record.Recording has: how another language would use it."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Sequence, Tuple

_i64, _i32, _text = ctypes.c_int64, ctypes.c_int32, ctypes.c_char_p


class CTensor(ctypes.Structure):
    _fields_ = [("name", _text), ("alias", _text), ("role", _text), ("dtype", _i32), ("trainable", ctypes.c_int),
                ("dims", ctypes.POINTER(_i64)), ("rank", _i32), ("frames", ctypes.POINTER(_i64)),
                ("frame_count", _i32), ("gradient_of", _i64), ("update_of", _i64)]


class CNode(ctypes.Structure):
    _fields_ = [("name", _text), ("domain", _text), ("type", _text), ("phase", _text), ("attributes", _text),
                ("inputs", ctypes.POINTER(_i64)), ("input_count", _i32), ("outputs", ctypes.POINTER(CTensor)),
                ("output_count", _i32), ("frames", ctypes.POINTER(_i64)), ("frame_count", _i32),
                ("derived_from", _i64)]


_SIGNATURES: Dict[str, Tuple[Any, List[Any]]] = {
    "error": (_text, []), "open": (ctypes.c_void_p, [_text]), "run_id": (_text, [ctypes.c_void_p]),
    "active": (ctypes.c_int, [ctypes.c_void_p]), "dtype": (_i32, [_text]),
    "frame": (_i64, [ctypes.c_void_p, _text, _i32, _text, _text, ctypes.c_int]),
    "source": (_i64, [ctypes.c_void_p, ctypes.POINTER(CTensor)]),
    "node": (_i64, [ctypes.c_void_p, ctypes.POINTER(CNode), ctypes.POINTER(_i64)]),
    "device": (ctypes.c_int, [ctypes.c_void_p, _i64, _text]), "module": (ctypes.c_int, [ctypes.c_void_p, _text, _text]),
    "mesh": (ctypes.c_int, [ctypes.c_void_p, _text, _i32, _i32]),
    "role": (ctypes.c_int, [ctypes.c_void_p, _i64, _text]), "begin": (ctypes.c_int, [ctypes.c_void_p, _i64]),
    "ran": (ctypes.c_int, [ctypes.c_void_p, _i64]), "saw_same": (ctypes.c_int, [ctypes.c_void_p, _i64, _i64]),
    "saw": (ctypes.c_int, [ctypes.c_void_p, _i64, ctypes.c_void_p, _i32, ctypes.POINTER(_i64), _i32]),
    "keep": (ctypes.c_int, [ctypes.c_void_p, _i64, ctypes.c_void_p, _i32, ctypes.POINTER(_i64), _i32]),
    "end": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(_text), ctypes.POINTER(ctypes.c_double), _i32]),
    "failed_at": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64]),
    "finish": (ctypes.c_int, [ctypes.c_void_p, _text, _text, ctypes.c_int]),
    "stop_hit": (_text, [ctypes.c_void_p]), "finish_on_hit": (ctypes.c_int, [ctypes.c_void_p, _text]),
    "child": (None, [ctypes.c_void_p])}


def _numbers(numbers: Sequence[int]) -> Any:
    return (_i64 * len(numbers))(*numbers)


class Recorder:
    def __init__(self, library: str, settings: str) -> None:
        self._library = ctypes.CDLL(library)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, f"msdbg_record_{name}")
            function.restype, function.argtypes = result, arguments
        self._recording = self._library.msdbg_record_open(settings.encode())
        self._checked(0 if self._recording else -1)

    def _checked(self, number: int) -> int:
        if number < 0:
            raise RuntimeError(self._library.msdbg_record_error().decode())
        return number

    def _call(self, name: str, *arguments: Any) -> int:
        return self._checked(getattr(self._library, f"msdbg_record_{name}")(self._recording, *arguments))

    def _tensor(self, name: str, output: Sequence[Any], trainable: bool = False, frames: Sequence[int] = ()) -> CTensor:
        dtype, shape, role, alias, gradient_of, update_of = output
        number = self._library.msdbg_record_dtype(dtype.encode())
        assert number >= 0, f"{name}: recordings have no {dtype}"
        return CTensor(name.encode(), alias.encode(), role.encode(), number, trainable, _numbers(shape), len(shape),
                       _numbers(frames), len(frames), gradient_of, update_of)

    def run_id(self) -> str:
        return self._library.msdbg_record_run_id(self._recording).decode()

    def active(self) -> bool:
        return self._library.msdbg_record_active(self._recording) == 1

    def frame(self, file: str, line: int, function: str, code: str, engine: bool) -> int:
        return self._call("frame", file.encode(), line, function.encode(), code.encode(), engine)

    def source(self, name: str, dtype: str, shape: Sequence[int], role: str, alias: str, trainable: bool,
               frames: Sequence[int]) -> int:
        return self._call("source", ctypes.byref(self._tensor(name, (dtype, shape, role, alias, -1, -1), trainable,
                                                              frames)))

    def node(self, name: str, domain: str, kind: str, phase: str, inputs: Sequence[int], outputs: Sequence[Any],
             attributes: Dict[str, Any], frames: Sequence[int], derived_from: int) -> Tuple[int, Tuple[int, ...]]:
        made = (CTensor * len(outputs))(*[self._tensor(name, output) for output in outputs])
        ids = (_i64 * len(outputs))()
        node = CNode(name.encode(), domain.encode(), kind.encode(), phase.encode(), _attributes(attributes),
                     _numbers(inputs), len(inputs), made, len(outputs), _numbers(frames), len(frames), derived_from)
        return self._call("node", ctypes.byref(node), ids), tuple(ids)

    def role(self, tensor: int, role: str) -> None:
        self._call("role", tensor, role.encode())

    def device(self, tensor: int, device: str) -> None:
        self._call("device", tensor, device.encode())

    def module(self, path: str, class_name: str) -> None:
        self._call("module", path.encode(), class_name.encode())

    def mesh(self, axis: str, index: int, size: int) -> None:
        self._call("mesh", axis.encode(), index, size)

    def begin(self, iteration: int) -> None:
        self._call("begin", iteration)

    def ran(self, node: int) -> None:
        self._call("ran", node)

    def saw(self, tensor: int, value: Any) -> bool:
        return self._look("saw", tensor, value)

    def keep(self, tensor: int, value: Any) -> bool:
        return self._look("keep", tensor, value)

    def _look(self, name: str, tensor: int, value: Any) -> bool:
        dtype = self._library.msdbg_record_dtype(value.dtype.encode())
        self._call(name, tensor, value.data_ptr(), dtype, _numbers(value.shape), len(value.shape))
        return True

    def saw_same(self, tensor: int, other: int) -> None:
        self._call("saw_same", tensor, other)

    def end(self, scalars: Dict[str, float]) -> None:
        names = (_text * len(scalars))(*[name.encode() for name in scalars])
        self._call("end", names, (ctypes.c_double * len(scalars))(*scalars.values()), len(scalars))

    def failed_at(self, node: int) -> None:
        self._call("failed_at", node)

    def finish(self, state: str, message: str, status: int) -> None:
        self._call("finish", state.encode(), message.encode(), status)


def _attributes(attributes: Dict[str, Any]) -> bytes:
    """Numbers that are not finite are objects there (dump/python/record/attributes.h)."""
    def finite(value: Any) -> Any:
        bad = isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))
        return {"float": str(value)} if bad else value

    return json.dumps({name: finite(value) for name, value in attributes.items()}).encode()
