"""Writes the files beside it with NumPy and ml_dtypes: what our own decoding and rounding are compared with.

    python3 -m venv venv && venv/bin/pip install 'numpy==2.2.6' 'ml_dtypes==0.6.0' && venv/bin/python make.py

small_floats.npz has of each type the numbers of all its patterns (NAME, float32; of 8-bit ones), numbers near and at
the middle between two neighbours (NAME_from, float64) and the patterns that they round to (NAME_to). ml_dtypes rounds
a float64 twice, by way of float32; it is asked about numbers that are float32.
numpy.npz has an array of each dtype that NumPy and we have.
"""
import os

import ml_dtypes
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def around(neighbours, real):
    """Both, what lies in the middle, and what is next to that in the type `real`; with either sign."""
    low, high = neighbours[:-1], neighbours[1:]
    middle = ((low.astype(np.float64) + high) / 2).astype(real)
    near = np.concatenate([low, middle, np.nextafter(middle, real(0)), np.nextafter(middle, real(np.inf))])
    special = np.array([0, np.inf, np.nan], real)
    return np.concatenate([near, -near, special, -special]).astype(np.float64)


def finite(values):
    return np.unique(values[np.isfinite(values) & (values >= 0)])


arrays = {}
for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
    dtype = np.dtype(getattr(ml_dtypes, name))
    numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    positive = finite(numbers)
    beyond = 2 * positive[-1] - positive[-2]  # the next number, if there were one
    given = around(np.append(positive, [beyond, 2 * beyond]), np.float32)
    arrays |= {name: numbers, name + "_from": given, name + "_to": given.astype(dtype).view(np.uint8)}

patterns = np.random.default_rng(5).integers(0, 1 << 15, 400, dtype=np.uint16)
for name, dtype, real in (("float16", np.dtype(np.float16), np.float64),
                          ("bfloat16", np.dtype(ml_dtypes.bfloat16), np.float32)):
    edges = np.array([0, 1, 2, 0x3ff, 0x400, 0x7f, 0x80, 0x7bff, 0x7f7f], np.uint16)
    all_of = finite(np.arange(1 << 15, dtype=np.uint16).view(dtype).astype(real))
    chosen = np.searchsorted(all_of, finite(np.append(patterns, edges).view(dtype).astype(real)))
    with np.errstate(over="ignore"):
        given = np.concatenate([around(all_of[i : i + 2], real) for i in chosen if i + 1 < len(all_of)]
                               + [around(np.array([all_of[-1], 2 * all_of[-1] - all_of[-2]], real), real)])
        arrays |= {name + "_from": given, name + "_to": given.astype(dtype).view(np.uint16)}
np.savez_compressed(os.path.join(here, "small_floats.npz"), **arrays)

counted = np.arange(-3, 3)
np.savez_compressed(
    os.path.join(here, "numpy.npz"),
    **{name: counted.astype(name) for name in ("int8", "int16", "int32", "int64", "float16", "float32", "float64")},
    **{name: np.arange(250, 256).astype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: (counted + 0.5j * counted[::-1]).astype(name) for name in ("complex64", "complex128")},
    bool=counted > 0)
