"""What a report says of faults of one kind each: the words that lead to the line."""

from __future__ import annotations

import re
from typing import Any

import pytest
from checked import TWO_RANKS, asked, first_of, recorded, said

_RANKS = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(6, 4))
torch.manual_seed(10 + rank)
optimizer = torch.optim.SGD(model.parameters(), 0.05)
for step in range(8):
    if step == 5 and rank == 1:
        SICK
    optimizer.zero_grad()
    model(torch.randn(16, 6)).square().mean().backward()
    optimizer.step()
"""


def test_of_a_rank_that_is_killed_and_those_that_lose_it_the_killed_one_is_named(tmp_path: Any) -> None:
    run = recorded(tmp_path, _RANKS.replace("SICK", "os.kill(os.getpid(), 9)"), launcher=TWO_RANKS, fails=True)
    report = asked("check", run)
    assert report["first"]["condition"] == "run_failed" and report["first"]["rank"] == 1
    assert "it was killed" in report["first"]["detail"]
    assert "then rank 0 failed, which lost it" in report["first"]["detail"]
    assert len(report["hits"]) == 1


def test_a_rate_that_one_rank_lowers_is_what_diff_finds_between_ranks(tmp_path: Any) -> None:
    run = recorded(tmp_path, _RANKS.replace("SICK", "optimizer.param_groups[0]['lr'] = 0.005"), launcher=TWO_RANKS)
    text = said("diff", run, "--ranks", "0,1")
    assert re.search(r"hyperparameters\s+differ first in iteration 5 \(rank \d\): optimizer/learning_rate", text), text


def test_a_scheduler_that_steps_on_one_rank_is_named_where_it_steps(tmp_path: Any) -> None:
    program = _RANKS.replace("for step", "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)\nfor step")
    first = asked("check", recorded(tmp_path, program.replace("SICK", "scheduler.step()").replace("step == 5", "step > 1"),
                                    launcher=TWO_RANKS))["first"]
    assert (first["condition"], first["rank"]) == ("rank_divergence", 1)
    assert first["source"]["code"] == "scheduler.step()"


def test_where_no_collectives_are_recorded_none_is_said_to_be_missing(tmp_path: Any) -> None:
    program = _RANKS.replace("    optimizer.step()", """    if rank == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()""").replace("SICK", "pass")
    first = asked("check", recorded(tmp_path, program, launcher=TWO_RANKS, level="train"))["first"]
    assert first["condition"] == "rank_divergence" and "as the optimizer reads it" in first["detail"]
    assert "no collective" not in first["detail"] and "level ops" in first["advice"]


_ONE = """
import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.05)
words = nn.Embedding(9, 8, sparse=True)
for step in range(30):
    x = torch.randn(32, 8)
    y = x[:, :4].argmax(1)
    BEFORE
    loss = cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def of_one(tmp_path: Any, before: str, level: str = "ops") -> Any:
    return asked("check", recorded(tmp_path, _ONE.replace("BEFORE", before), level=level))["first"]


def test_a_rate_that_is_nan_is_told_as_one(tmp_path: Any) -> None:
    first = of_one(tmp_path, "optimizer.param_groups[0]['lr'] = float('nan') if step == 9 else 0.05")
    assert first["iteration"] == 9 and first["tensor"].startswith("optimizer/learning_rate")
    assert "it holds 1 NaN when the optimizer reads it" in first["detail"] and "schedule" in first["advice"]


def test_a_factor_that_is_infinite_is_told_as_a_number_of_the_program(tmp_path: Any) -> None:
    first = of_one(tmp_path, "x = x * float('inf') if step == 9 else x")
    assert first["iteration"] == 9 and "infinities of main/mul-op1 (train.py:14)" in first["detail"], first["detail"]


def test_what_overflows_is_told_with_the_tensor_in_which_it_grew(tmp_path: Any) -> None:
    first = of_one(tmp_path, "x = x * (1e30 if step == 9 else 1.0)\n    x = x * (1e10 if step == 9 else 1.0)")
    assert first["iteration"] == 9 and "main/mul-op1" in first["detail"], first["detail"]


def test_a_parameter_with_sparse_gradients_that_no_optimizer_has(tmp_path: Any) -> None:
    first = of_one(tmp_path, "x = words(torch.randint(0, 9, (32,))) + x")
    assert first is None or first["condition"] == "no_gradient", first
    hints = asked("check", tmp_path / "run.msdbg")["hints"] + ([first] if first else [])
    assert any("Embedding/weight gets a gradient, but no optimizer updates it" in hint["detail"] for hint in hints)


_PRIOR = """
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 80))
nn.init.normal_(net[2].weight, std=0.01)
nn.init.constant_(net[2].bias, -4.6)  # RetinaNet: few of many places hold something
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(12):
    x = torch.randn(32, 8)
    wanted = torch.zeros(32, 80)
    wanted[torch.arange(32), x[:, :4].argmax(1)] = 1
    loss = binary_cross_entropy_with_logits(net(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_logits_that_begin_at_a_prior_are_no_fault(tmp_path: Any) -> None:
    assert first_of(tmp_path, _PRIOR) is None


def test_a_state_that_the_program_writes_to_is_named_with_what_wrote(tmp_path: Any) -> None:
    run = recorded(tmp_path, _ONE.replace("BEFORE", """if step == 9:
        optimizer.state[net[0].weight]["exp_avg_sq"][4, 7] = -1e-3""").replace("SGD", "Adam"))
    first = asked("check", run)["first"]
    assert first["iteration"] == 9 and "state/Sequential/0/weight/exp_avg_sq) is negative" in first["detail"]
    assert "fill_-op1 wrote to it" in first["detail"]


def test_a_clipping_before_backward_clips_nothing(tmp_path: Any) -> None:
    program = _ONE.replace("BEFORE", "pass").replace("    loss.backward()", """    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    loss.backward()""")
    first = asked("check", recorded(tmp_path, program, level="train"))["first"]
    assert first["condition"] == "clipping_too_tight" and "clips nothing" in first["detail"]


def test_the_gradient_of_a_bias_before_batch_norm_is_rounding_with_gradients_that_stay(tmp_path: Any) -> None:
    program = _ONE.replace("BEFORE", "pass").replace("nn.Tanh()", "nn.BatchNorm1d(16), nn.Tanh()")
    assert asked("check", recorded(tmp_path, program.replace("zero_grad()", "zero_grad(set_to_none=False)")))["first"] is None


def test_why_of_an_addmm_follows_the_input_that_is_large(tmp_path: Any) -> None:
    recorded(tmp_path, _ONE.replace("BEFORE", "x = x * 1e38 if step == 9 else x"))
    text = said("check", tmp_path / "run.msdbg", "--why")
    assert "main/mul-op1" in text, text


def test_why_takes_the_loss_of_a_recording_whose_level_changed_for_one(tmp_path: Any) -> None:
    run = recorded(tmp_path, _ONE.replace("BEFORE", "x = x * 1e38 if step > 19 else x"), level="train")
    assert {"train.py:15"} <= set(re.findall(r"train\.py:\d+", said("why", run)))
