"""Turns ONNX's node tests (onnx/backend/test/data/node of PyPI's onnx package) into cases.json and data.bin.

    python onnx_cases.py OUT OPERATOR...

Only tests of one node of a named operator are taken. Inputs that msdbg has as attributes (axes, starts, shape …)
are moved there when they are constants of the test, which they all are. A case whose types msdbg does not have
carries the reason instead of tensors.
"""
import json
import math
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

DTYPES = {"float32", "float64", "int64", "int32", "uint8", "bool"}
# operator: names of the attributes that its inputs 1, 2, … become
STATIC = {
    "Slice": ["starts", "ends", "axes", "steps"],
    "Split": ["split"],
    "Squeeze": ["axes"],
    "Unsqueeze": ["axes"],
    "Expand": ["shape"],
    "Reshape": ["shape"],
    "Clip": ["min", "max"],
    "Pad": ["pads", "value", "axes"],
    "Trilu": ["k"],
    "ReduceSum": ["axes"],
    "ReduceMean": ["axes"],
    "ReduceMax": ["axes"],
    "ReduceMin": ["axes"],
    "OneHot": ["depth", "values"],
    "ReduceSumSquare": ["axes"],
    "Dropout": ["ratio", "training_mode"],
}
FLOATS = {"min", "max", "value", "ratio"}
SCALARS = FLOATS | {"k", "training_mode", "depth"}


class Unsupported(Exception):
    pass


def read_tensor(path, type_proto):
    if type_proto.WhichOneof("value") != "tensor_type":
        raise Unsupported(type_proto.WhichOneof("value").replace("_type", ""))
    proto = onnx.TensorProto()
    with open(path, "rb") as file:
        proto.ParseFromString(file.read())
    name = onnx.TensorProto.DataType.Name(proto.data_type).lower()
    name = {"float": "float32", "double": "float64"}.get(name, name)
    if name not in DTYPES:
        raise Unsupported("dtype " + name)
    return numpy_helper.to_array(proto)


def attribute(proto):
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value):
        return list(value)
    raise Unsupported("attribute " + proto.name + " of another type than int, float, string, ints")


def make_static(op, attributes, inputs):
    """Moves constant inputs into attributes; returns the inputs that stay."""
    names = STATIC.get(op, [])
    for name, value in zip(names, inputs[1:]):
        if value is None:
            continue
        if name in SCALARS:
            attributes[name] = float(value) if name in FLOATS else int(np.ravel(value)[0])
        else:
            attributes[name] = [int(v) for v in value.ravel()]
    if op == "OneHot":
        name_values(attributes, inputs[2])
    if op == "Pad":
        spread_pads(attributes, inputs[0].ndim)
    if op == "Range":
        start, limit, delta = (float(v) for v in inputs)
        attributes["length"] = max(math.ceil((limit - start) / delta), 0)
    if op in ("MaxPool", "AveragePool", "Conv") and inputs[0].ndim != 4:
        raise Unsupported(f"{inputs[0].ndim - 2} spatial dimensions")
    return inputs[:1] if names else inputs


def name_values(attributes, values):
    """OneHot's input of two values becomes two attributes and the dtype."""
    del attributes["values"]
    attributes["off"], attributes["on"] = (float(v) for v in values)
    attributes["to"] = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)


def spread_pads(attributes, rank):
    axes = attributes.pop("axes", list(range(rank)))
    begin, end = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        begin[axis], end[axis] = attributes["pads"][i], attributes["pads"][i + len(axes)]
    attributes["pads"] = begin + end


class Data:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.size = 0

    def add(self, array):
        array = np.asarray(array, order="C")  # ascontiguousarray would give scalars a dimension
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
        at, self.size = self.size, self.size + len(raw)
        self.file.write(raw)
        return {"dtype": str(array.dtype), "shape": list(array.shape), "at": at}


def make_case(folder, model, data):
    node = model.graph.node[0]
    opset = next(o.version for o in model.opset_import if o.domain == "")
    case = {"name": os.path.basename(folder), "op": node.op_type, "opset": opset, "attributes": {}}
    try:
        attributes = {a.name: attribute(a) for a in node.attribute}
        given = {v.name: read_tensor(f"{folder}/test_data_set_0/input_{i}.pb", v.type)
                 for i, v in enumerate(model.graph.input)}
        outputs = [read_tensor(f"{folder}/test_data_set_0/output_{i}.pb", v.type)
                   for i, v in enumerate(model.graph.output)]
        if [v.name for v in model.graph.output] != [n for n in node.output if n][:len(outputs)]:
            raise Unsupported("outputs in another order")
        inputs = make_static(node.op_type, attributes, [given.get(name) for name in node.input])
        if node.op_type == "Split" and "split" not in attributes:
            attributes["num_outputs"] = len(node.output)  # what ONNX takes where neither is given
        while inputs and inputs[-1] is None:
            inputs.pop()
        if any(value is None for value in inputs):
            raise Unsupported("an optional input left out before another one")
    except Unsupported as reason:
        case["unsupported"] = str(reason)
        return case
    case["attributes"] = attributes
    case["inputs"] = [data.add(value) for value in inputs]
    case["outputs"] = [data.add(value) for value in outputs]
    return case


def main():
    out, operators = sys.argv[1], set(sys.argv[2:])
    root = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/node")
    data = Data(os.path.join(out, "data.bin"))
    cases = []
    for name in sorted(os.listdir(root)):
        model = onnx.load(os.path.join(root, name, "model.onnx"))
        nodes = model.graph.node
        if len(nodes) == 1 and nodes[0].domain == "" and nodes[0].op_type in operators:
            cases.append(make_case(os.path.join(root, name), model, data))
    with open(os.path.join(out, "cases.json"), "w") as file:
        json.dump({"onnx": onnx.__version__, "cases": cases}, file)


main()
