"""Writes the files beside it with NumPy and safetensors: what readers of ours must read as those packages wrote it.

    python3 -m venv venv && venv/bin/pip install 'numpy<2' safetensors && venv/bin/python make.py
"""
import os

import numpy as np
from safetensors.numpy import save_file

here = os.path.dirname(os.path.abspath(__file__))


def at(name):
    return os.path.join(here, name)


floats = (np.arange(6, dtype=np.float32) / 4 - 0.5).reshape(2, 3)
arrays = {"x": floats, "wide": floats.astype(np.float64), "label": np.array([3, -1]),
          "small": np.array([7, -8], dtype=np.int32), "bytes": np.array([[0, 255]], dtype=np.uint8),
          "mask": np.array([True, False, True]), "scalar": np.array(2.5)}

np.save(at("floats.npy"), floats)
np.save(at("fortran.npy"), np.asfortranarray(floats))
np.save(at("half.npy"), floats.astype(np.float16))
np.savez(at("stored.npz"), **arrays)
np.savez_compressed(at("deflated.npz"), images=np.zeros((4, 50, 10), dtype=np.float32), label=np.arange(4))
save_file(arrays, at("package.safetensors"), metadata={"made": "by make.py"})
