"""What PyTorch finds in float64 of iterations that msdbg recorded in float32: errors of gradients, and one element's way.

  python3 pytorch_precision.py PEERS MODEL FOLDER PARAMETER ELEMENT

FOLDER has what pytorch_steps.py takes as the start (parameter_0000.npy …, x_0.npy, label_0.npy … x_2.npy, label_2.npy) and the
recorded gradients of iteration 0: recorded_0000.npy …. Prints JSON: "errors" of each of these, |recorded - PyTorch| /
|PyTorch| (Euclidean norms); "history" of an element (row-major) of a parameter (its number), for each iteration: value,
gradient, the optimiser's two moments before its step, the value after it.
"""
import json
import sys

import numpy
import torch

parameter, element = (int(each) for each in sys.argv[4:])
del sys.argv[4:]
import pytorch_steps as peer


def at(tensor):
    return float(tensor.detach().reshape(-1)[element])


def round_constants(model):
    """A constant of the recorded graph is a float32, whatever computes with it."""
    for module in model.modules():
        if hasattr(module, "scale"):
            module.scale = float(numpy.float32(module.scale))


errors, history = [], []
for step, (loss, order, optimiser) in enumerate(peer.train(torch.float64, 3, round_constants)):
    if step == 0:
        errors = [peer.distance(peer.load(f"recorded_{i:04}"), p.grad) for i, p in enumerate(order)]
    p = order[parameter]
    if history:
        history[-1].append(at(p))
    state = optimiser.state.get(p, {})
    moments = [at(state[key]) if key in state else 0.0 for key in ("exp_avg", "exp_avg_sq")]
    history.append([at(p), at(p.grad)] + moments)
history[-1].append(at(p))
print(json.dumps({"torch": torch.__version__, "errors": errors, "history": history}))
