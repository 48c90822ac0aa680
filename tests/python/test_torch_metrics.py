"""Numbers that a script says of its evaluations (msdbg.metric) stand beside the iteration that they followed."""

from __future__ import annotations

import math
import os
from typing import Any

import built
import pytest

from checked import asked, recorded

pytest.importorskip("torch")



def read(run: Any) -> Any:
    import msdbg

    os.environ["MSDBG_PROGRAM"] = str(built.MSDBG)
    return msdbg.open(run)


PROGRAM = """
import sys
import torch
import msdbg

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
msdbg.metric("val_loss", 9.0)  # nothing is trained yet
for step in range(12):
    x = torch.randn(32, 8)
    loss = torch.nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        with torch.no_grad():
            held = torch.randn(64, 8)
            found = torch.nn.functional.cross_entropy(model(held), held[:, :4].argmax(1))
        msdbg.metric("val_loss", found)
        msdbg.metric("val_accuracy", step / 10)
msdbg.metric("val_accuracy", float("nan"))
for name, value in (("loss", 1.0), ("x", "no number"), ("x", None), ("x", torch.ones(2)), ("nul\\0", 1.0),
                    ("half\\ud800", 1.0), ("", 1.0)):
    try:
        msdbg.metric(name, value)
        sys.exit(f"{name!r}, {value!r} was taken")
    except (TypeError, ValueError) as error:
        assert str(error).startswith("msdbg.metric"), error
"""


@pytest.mark.parametrize("level", ["train", "modules", "ops"])
def test_metrics_stand_beside_the_iteration_that_they_followed(tmp_path: Any, level: str) -> None:
    run = recorded(tmp_path, PROGRAM, level=level)
    metrics = {each["name"]: each["values"] for each in asked("info", run)["metrics"]}
    assert [value["iteration"] for value in metrics["val_loss"]] == [4, 9]
    assert all(0 < value["value"] < 5 for value in metrics["val_loss"])
    assert metrics["val_accuracy"] == [{"iteration": 4, "value": 0.4}, {"iteration": 9, "value": 0.9},
                                       {"iteration": 11, "value": "nan"}]
    assert asked("check", run)["metrics"][0]["name"] == "val_accuracy"
    table = read(run).metrics()
    assert list(table.columns) == ["metric", "rank", "iteration", "value"] and len(table) == 5
    assert list(table["iteration"]) == [4, 9, 11, 4, 9]
    assert math.isnan(table["value"][2]) and list(table["value"])[:2] == [0.4, 0.9]
