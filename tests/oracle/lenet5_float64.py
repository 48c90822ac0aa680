"""The relative L2 error of what msdbg recorded of an iteration of lenet5, against NumPy in float64 throughout.

    lenet5_float64.py FOLDER     with x.npy, label.npy, <layer>.weight.npy, <layer>.bias.npy, and of each parameter
                                 the recorded gradient: <layer>.weight.grad.npy; fc3.npy: the recorded logits
Prints a JSON object: name of the file -> relative error.
"""
import json
import pathlib
import sys

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

folder = pathlib.Path(sys.argv[1])
load = lambda name: np.load(folder / f"{name}.npy")
layers = ["conv1", "conv2", "fc1", "fc2", "fc3"]
p = {f"{layer}.{part}": load(f"{layer}.{part}").astype(np.float64) for layer in layers for part in ("weight", "bias")}
grad = {}


def padded(x, pad):
    return np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))


def conv(x, weight):
    """x [N, C, H, W] by weight [O, C, h, w], without padding."""
    return np.einsum("ncyxhw,ochw->noyx", sliding_window_view(x, weight.shape[2:], axis=(2, 3)), weight)


class Layer:
    """Convolution, bias, Relu and 2x2 max pooling."""

    def __init__(self, name, pad):
        self.name, self.pad = name, pad

    def forward(self, x):
        self.x = padded(x, self.pad)
        self.weight = p[self.name + ".weight"]
        self.y = conv(self.x, self.weight) + p[self.name + ".bias"].reshape(1, -1, 1, 1)
        r = np.maximum(self.y, 0)
        n, c, h, w = r.shape
        windows = r.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.best = windows.argmax(axis=-1)  # of equals the first
        return windows.max(axis=-1)

    def backward(self, dy):
        n, c, h, w = self.y.shape
        spread = (np.arange(4) == self.best[..., None]) * dy[..., None]
        spread = spread.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h, w)
        d = spread * (self.y > 0)
        grad[self.name + ".bias"] = d.sum(axis=(0, 2, 3))
        windows = sliding_window_view(self.x, self.weight.shape[2:], axis=(2, 3))
        grad[self.name + ".weight"] = np.einsum("ncyxhw,noyx->ochw", windows, d)
        turned = self.weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        return conv(padded(d, self.weight.shape[2] - 1), turned)


first, second = Layer("conv1", 2), Layer("conv2", 0)
features = second.forward(first.forward(load("x").astype(np.float64)))
x = features.reshape(len(features), -1)
inputs = []
for layer in ("fc1", "fc2", "fc3"):
    inputs.append(x)
    x = x @ p[layer + ".weight"].T + p[layer + ".bias"]
    if layer != "fc3":
        x = np.maximum(x, 0)
logits = x

d = np.exp(logits - logits.max(axis=1, keepdims=True))
d /= d.sum(axis=1, keepdims=True)
d[np.arange(len(d)), load("label")] -= 1
d /= len(d)
for layer, x in reversed(list(zip(("fc1", "fc2", "fc3"), inputs))):
    grad[layer + ".weight"], grad[layer + ".bias"] = d.T @ x, d.sum(axis=0)
    d = d @ p[layer + ".weight"]
    if layer != "fc1":
        d = d * (x > 0)
first.backward(second.backward(d.reshape(features.shape)))


def relative(was, exact):
    return float(np.linalg.norm(was.astype(np.float64) - exact) / np.linalg.norm(exact))


errors = {f"{name}.grad": relative(load(f"{name}.grad"), exact) for name, exact in grad.items()}
errors["fc3"] = relative(load("fc3"), logits)
print(json.dumps(errors))
