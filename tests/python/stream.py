"""Plays a stream of calls (streams/, record_streams.py) to the recorder, in a process of its own: there is one recording
in a process. Torch is not needed: a tensor has the dtype and shape that the stream says, and values by a seed.

    python3 tests/python/stream.py STREAM RUN [--abi]       --abi: libmsdbg_record.so by ctypes, not the extension
"""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import sys
from typing import Any, List

import built
import c_recorder

HERE = os.path.dirname(os.path.abspath(__file__))
STREAMS = os.path.join(HERE, "streams")
RUN_ID = "f" * 32  # fake_record's
BYTES = {"torch.float64": 8, "torch.int64": 8, "torch.float32": 4, "torch.int32": 4, "torch.float16": 2,
         "torch.bfloat16": 2, "torch.int16": 2, "torch.int8": 1, "torch.uint8": 1, "torch.bool": 1,
         "torch.complex64": 8, "torch.complex128": 16}


def read(path: str) -> List[List[Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def settings(stream: List[List[Any]], run: str) -> str:
    """Of the recording that the stream opens."""
    given = stream[0][1]
    return json.dumps({**given, "run": run, "launcher": False, "run_id": RUN_ID, "create": given["rank"] == 0})


def values(dtype: str, shape: List[int], seed: int) -> bytearray:
    """Row-major, of small finite numbers in most dtypes (bytes of a linear congruence)."""
    count = 1
    for n in shape:
        count *= n
    size = count * BYTES[dtype]
    state, block = seed * 2654435761 + 12345, bytearray()
    while len(block) < min(size, 4096):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        block += (state >> 33).to_bytes(4, "little")
    if dtype == "torch.bool":
        block = bytearray(byte & 1 for byte in block)
    return (block * (size // max(1, len(block)) + 1))[:size]


class Fake:
    """What the extension asks of a tensor."""

    is_cpu = True

    def __init__(self, dtype: str, shape: List[int], seed: int) -> None:
        self.dtype, self.shape = dtype, tuple(shape)
        self.bytes = values(dtype, shape, seed)
        self._at = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes) if self.bytes else None

    def data_ptr(self) -> int:
        return ctypes.addressof(self._at) if self._at is not None else 0

    def is_contiguous(self) -> bool:
        return True


def tuples(thing: Any) -> Any:
    """JSON's lists as the tuples that they were."""
    return tuple(map(tuples, thing)) if isinstance(thing, list) else thing


def play(stream: List[List[Any]], recorder: Any) -> None:
    """`recorder` has the methods of the extension's Recording."""
    iteration = 0
    for name, *arguments in stream[1:]:
        if name in ("saw", "keep"):
            tensor, dtype, shape = arguments
            taken = getattr(recorder, name)(tensor, Fake(dtype, shape, 7919 * iteration + tensor))
            assert taken is True, (name, arguments)
        elif name == "node":
            recorder.node(*map(tuples, arguments[:6]), arguments[6], *map(tuples, arguments[7:]))
        else:
            getattr(recorder, name)(*map(tuples, arguments))
        if name == "begin":
            iteration = arguments[0]
    assert recorder.run_id() == RUN_ID and not recorder.active()


def main() -> None:
    path, run = sys.argv[1:3]
    stream = read(path)
    if "--abi" in sys.argv:
        play(stream, c_recorder.Recorder(built.LIBRARY, settings(stream, run)))
    else:
        play(stream, built.extension().open(settings(stream, run)))


if __name__ == "__main__":
    main()
