"""Two steps of training of a peer's model (../shared/peers/torch_models.py) from msdbg's weights and batches.

  /usr/bin/python3 pytorch_steps.py PEERS MODEL FOLDER

FOLDER has parameter_0000.npy … in the order of msdbg's graph, x_0.npy, label_0.npy, x_1.npy, label_1.npy, and what
msdbg computed from them: loss_DTYPE_STEP.npy, gradient_DTYPE_STEP_0000.npy (float32: step 0 alone). Prints JSON: for
each of them the distance |msdbg - PyTorch| / |PyTorch| (Euclidean norms over the tensor, in float64), and as
"own_float32" that of PyTorch's float32 from its float64.
"""
import json
import sys

import numpy
import torch

name, folder = sys.argv[2:]
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True  # the peers are not ours to write to
import torch_models

torch.set_num_threads(2)


def load(stem):
    return torch.from_numpy(numpy.load(f"{folder}/{stem}.npy"))


def parameters_in_order(model, x):
    """As the modules run: msdbg numbers parameters where they are used, PyTorch where they are declared."""
    order = []
    hooks = [m.register_forward_hook(lambda m, args, out: order.extend(m.parameters(recurse=False)))
             for m in model.modules()]
    with torch.no_grad():
        model(x)
    for hook in hooks:
        hook.remove()
    assert len(order) == len(list(model.parameters()))
    return order


def train(dtype, count, prepare=lambda model: None):
    """Loss, parameters and optimiser of each step, where the gradients are there and the update is to come; weights
    change between them as the peer's optimiser says."""
    torch.set_default_dtype(dtype)
    model = torch_models.MODELS[name][0]().to(dtype)
    prepare(model)

    def batch(step):
        x = load(f"x_{step}")
        return (x if x.dtype == torch.int64 else x.to(dtype)), load(f"label_{step}")

    model.eval()  # the pass that finds the order must not move BatchNorm's running values
    order = parameters_in_order(model, batch(0)[0])
    model.train()
    with torch.no_grad():
        for i, p in enumerate(order):
            given = load(f"parameter_{i:04}")
            assert given.shape == p.shape, (i, given.shape, p.shape)
            p.copy_(given)
    optimiser = torch_models.optimiser(name, model)
    for step in range(count):
        x, label = batch(step)
        optimiser.zero_grad(set_to_none=True)
        loss = torch_models.loss_fn(model(x), label)
        loss.backward()
        yield loss, order, optimiser
        optimiser.step()


def steps(dtype, count):
    """Loss and gradients of each step."""
    return [[loss.detach().clone()] + [p.grad.clone() for p in order] for loss, order, _ in train(dtype, count)]


def distance(a, b):
    a, b = a.to(torch.float64), b.to(torch.float64)
    assert a.shape == b.shape, (a.shape, b.shape)
    difference, norm = torch.linalg.vector_norm(a - b), torch.linalg.vector_norm(b)
    return float(difference / norm) if norm > 0 else (0.0 if difference == 0 else float("inf"))


def compare(kind, step, reference):
    stems = [f"loss_{kind}_{step}"] + [f"gradient_{kind}_{step}_{i:04}" for i in range(len(reference) - 1)]
    return [distance(load(stem).reshape(r.shape), r) for stem, r in zip(stems, reference)]


if __name__ == "__main__":
    single, double = steps(torch.float32, 1), steps(torch.float64, 2)
    print(json.dumps({
        "torch": torch.__version__,
        "float32": compare("float32", 0, single[0]),
        "own_float32": [distance(a, b) for a, b in zip(single[0], double[0])],
        "float64": [compare("float64", step, double[step]) for step in range(2)],
    }))
