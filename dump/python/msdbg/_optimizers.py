"""Steps of optimizers: what each parameter's gradient is then, and what the step makes of the parameter. The same at
every level. A node for each parameter, however the optimizer computes it (loop, foreach, fused). Needs torch.
"""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any, Callable, Optional

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from msdbg._frozen import FrozenInName
from msdbg._graph import Entry
from msdbg._groups import Groups
from msdbg._heirs import Heirs
from msdbg._kept import KeptGradients
from msdbg._marks import tell
from msdbg._names import Parameter, parameters_of
from msdbg._outside import Outside
from msdbg._rates import Rates
from msdbg._recording import Recording
from msdbg._tensors import dense, local
from msdbg._turns import Read, Turns

_ENOUGH = 3  # steps in a row that find no gradient


class Optimizers:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._numbers: dict[int, tuple[Any, int]] = {}  # id -> weak reference, which one
        self._met = 0  # ever
        self._depth = 0  # of steps within steps
        self._steps: dict[str, int] = {}  # by parameter: in this iteration
        self._frozen = FrozenInName(recording)
        self._looked: set[int] = set()  # optimizers whose parameters without gradient were looked for
        self._vain: dict[int, int] = {}  # of optimizers that have found none yet: their steps
        self._read: list[Read] = []  # of the step in progress
        self._turns = Turns(recording)
        self._outside = Outside(recording)
        self._rates = Rates(recording)
        self._groups = Groups()
        self._heirs = Heirs(recording)
        self.kept = KeptGradients(recording)

    def start(self) -> None:
        patches = self._recording.patches
        patches.wrap(Optimizer, "__init__", self._wrap_init)
        patches.wrap(Optimizer, "add_param_group", self._wrap_add)
        self._rates.watch_schedulers()
        patches.hook(register_optimizer_step_pre_hook(self._before))
        patches.hook(register_optimizer_step_post_hook(self._after))

    def new_iteration(self) -> None:
        self._steps.clear()

    def _wrap_init(self, original: Callable[..., None]) -> Callable[..., None]:
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._recording.guard(self._meet_new, optimizer, sys._getframe(1))

        return __init__

    def _wrap_add(self, original: Callable[..., None]) -> Callable[..., None]:
        def add_param_group(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            known = self._numbers.get(id(optimizer))
            if known is not None and known[0]() is optimizer:  # else it is being made
                self._recording.guard(self._recording.names.given, optimizer)

        return add_param_group

    def _meet_new(self, optimizer: Any, frame: Any) -> None:
        self._rates.made(optimizer, self.meet(optimizer), frame)

    def meet_all(self) -> None:
        """Those that were there before the recording. What an earlier cell of a notebook made and nobody has any more must
        not be waited for."""
        gc.collect()
        for thing in gc.get_objects():
            if issubclass(type(thing), Optimizer) and "param_groups" in thing.__dict__:
                self.meet(thing)

    def meet(self, optimizer: Any) -> int:
        """Number of an optimizer; a new one's parameters get their names."""
        known = self._numbers.get(id(optimizer))
        if known is not None and known[0]() is optimizer:
            return known[1]
        number, self._met = self._met, self._met + 1
        self._numbers[id(optimizer)] = (weakref.ref(optimizer), number)
        recording = self._recording
        parameters = parameters_of(optimizer)
        unknown = [p for p in parameters if recording.names.parameter(p) is None]
        if unknown:
            recording.names.discover(unknown)
        recording.names.given(optimizer)
        recording.cycle.created(optimizer)
        recording.level.optimizer_made()
        return number

    def _number(self, optimizer: Any) -> int:
        """That of a step: one that goes on for one that is gone, made on the same line, takes its number, and names, over."""
        number, before = self.meet(optimizer), self._heirs.number_from(optimizer)
        if before is None or before == number or not self._rates.made_alike(number, before):
            return number
        self._numbers[id(optimizer)] = (self._numbers[id(optimizer)][0], before)
        self._rates.forget(number)
        return before

    def alive(self) -> list[Any]:
        """Those that were met, and are there."""
        return [known for known in (reference() for reference, _ in self._numbers.values()) if known is not None]

    def kinds(self) -> list[type]:
        """Classes of the optimizers that were met."""
        return [type(known) for known in self.alive()]

    def parameter(self, optimizer: Any, tensor: Any, index: int) -> Parameter:
        names = self._recording.names
        known = names.parameter(tensor)
        if known is not None:
            return known
        names.discover([tensor])
        return names.parameter(tensor) or names.loose(tensor, type(optimizer).__name__, index)

    # --- a step ---

    def _before(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._depth += 1
        recording = self._recording
        recording.by_hand.stepped()
        if self._depth > 1:
            recording.cycle.inner(optimizer)
            return None
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        if closure is None:
            recording.guard(self._read_all, optimizer)
            recording.level.suspend()
            return None
        changed = self._around(optimizer, closure)
        recording.level.suspend()
        if "closure" in kwargs:
            return args, {**kwargs, "closure": changed}
        return (args[0], changed) + tuple(args[2:]), kwargs

    def _around(self, optimizer: Any, closure: Callable[[], Any]) -> Callable[[], Any]:
        """A closure computes loss and gradients within the step: it is recorded like what comes before a step."""
        calls = 0

        def recorded() -> Any:
            nonlocal calls
            level = self._recording.level
            level.resume()
            self._recording.trying = calls > 0
            try:
                return closure()
            finally:
                self._recording.trying = False
                if calls == 0:  # later ones are of points that the optimizer tries
                    self._recording.guard(self._read_all, optimizer)
                calls += 1
                level.suspend()

        return recorded

    def _after(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        recording = self._recording
        recording.level.resume()
        recording.guard(self._write_all, optimizer)
        if not recording.scaling:
            self.stepped(optimizer)

    def stepped(self, optimizer: Any) -> None:
        recording = self._recording
        if recording.cycle.stepped(optimizer):
            recording.end_iteration()

    def skipped(self, optimizer: Any) -> None:
        """A GradScaler found infinities: the gradients are there, the parameters stay."""
        recording = self._recording
        recording.guard(self._read_all, optimizer)
        self._read.clear()
        recording.scalars["step_skipped"] = 1.0

    def _read_all(self, optimizer: Any) -> None:
        """What the step will read: parameters, gradients; rates."""
        recording = self._recording
        self._read.clear()
        if not recording.ready():
            return
        if len(self.alive()) == 1:
            recording.adds.steps_now()
        number = self._number(optimizer)
        rates = self._rates.of(optimizer, number)
        if number not in self._looked:
            self._looked.add(number)
            self._vain[number] = 0
            self._frozen.look(list(parameters_of(optimizer)))
            self._without_gradient(optimizer, number)
        for index, (tensor, rate) in enumerate(zip(parameters_of(optimizer), rates)):
            if tensor.grad is not None:
                known = self.parameter(optimizer, tensor, index)
                turn = self._steps[known.name] = self._steps.get(known.name, 0) + 1  # another optimizer may have it too
                if recording.level.exact:
                    self._look_at_states(optimizer, known, tensor)
                quick = self._turns.read(number, known, tensor, turn, rate)
                self._read.append(self._read_one(known, tensor, turn, rate) if quick is None else quick)
        if number in self._vain:
            self._look_for_any(optimizer, number)

    # --- a step of a program that has no optimizer ---

    def read_by_hand(self, parameters: list[Tensor]) -> None:
        """backward() ended: parameters and gradients as the program finds them."""
        if not self._recording.ready():
            return
        for tensor in parameters:
            known = self._recording.names.parameter(tensor)
            if known is not None and tensor.grad is not None:
                turn = self._steps[known.name] = self._steps.get(known.name, 0) + 1
                self._read.append(self._read_one(known, tensor, turn, ()))

    def changed_by_hand(self) -> None:
        """What it made of them; of several gradients the last one counts."""
        read, self._read = {one.known.name: one for one in self._read}, []
        graph = self._recording.graph if read else None
        for one in read.values():
            value = dense(local(one.tensor))
            entry = graph.node(graph.scope(f"update/{one.known.scope}"), "update", one.known.index, "torch", "update",
                               (one.now, one.gradient.outputs[0]),
                               ((value.dtype, tuple(value.shape), "updated", "", -1, one.now),),
                               frames=one.gradient.frames, made=(value,))
            self._recording.recorder.ran(entry.node)
            self._recording.values.put(value, entry.outputs[0])
            self._recording.values.see(entry.outputs[0], value)

    def _without_gradient(self, optimizer: Any, number: int) -> None:
        """Of an optimizer's first step: what it has and finds no gradient of. The graph then has it, so that what never
        gets one can be told; what the model has another one in place of by now is told at once, where it was made."""
        recording = self._recording
        replaced: list[str] = []
        for index, tensor in enumerate(parameters_of(optimizer)):
            if tensor.grad is None and tensor.requires_grad:
                known = self.parameter(optimizer, tensor, index)
                recording.level.parameter(known, dense(local(tensor)))
                if recording.names.is_replaced(known):
                    replaced.append(known.name)
        if replaced:
            tell(recording, recording.graph.scope("main"), "replaced_parameters", number + 1,
                 {"name": replaced[0], "count": len(replaced)}, self._rates.frames_of(number), phase="update")

    def _look_for_any(self, optimizer: Any, number: int) -> None:
        """Of the first steps: whether one of several optimizers finds no gradient at all, again and again."""
        trained = [(i, tensor) for i, tensor in enumerate(parameters_of(optimizer)) if tensor.requires_grad]
        if self._read or not trained:
            del self._vain[number]
            return
        self._vain[number] += 1
        if self._vain[number] < _ENOUGH:
            return
        del self._vain[number]
        recording = self._recording
        if len(self.alive()) > 1:
            name = self.parameter(optimizer, trained[0][1], trained[0][0]).name
            tell(recording, recording.graph.scope("main"), "steps_in_vain", number + 1,
                 {"name": name, "count": len(trained)}, self._rates.frames_of(number), phase="update")

    def _look_at_states(self, optimizer: Any, known: Parameter, tensor: Any) -> None:
        """Those that the program wrote to since the last step: what the step reads is no longer what that made."""
        values = self._recording.values
        for key, state in self._states(optimizer, tensor):
            writer = values.known(state)
            if writer is not None and self._recording.graph.roles.get(writer) not in ("state", "updated"):
                values.see(self._state_source(known, key, state), state)

    def _read_one(self, known: Parameter, tensor: Any, turn: int, rate: tuple[int, ...]) -> Read:
        recording = self._recording
        value = dense(local(tensor))
        now = recording.level.parameter(known, value)
        made = recording.level.gradient(dense(local(tensor.grad)), known)
        gradient = self._gradient(known, tensor, made, turn)
        recording.recorder.keep(now, value)
        return Read(known, tensor, now, made, gradient, rate, turn)

    def _gradient(self, known: Parameter, tensor: Any, made: Optional[int], turn: int) -> Entry:
        """The node of the gradient that the optimizer reads."""
        recording = self._recording
        graph = recording.graph
        gradient = dense(local(tensor.grad))
        again = "" if turn == 1 else f"#{turn}"
        scope = graph.scope(f"grad/{known.scope}{again}")
        alias = f"grad({known.name})" + again
        entry = graph.node(
            scope, "AccumulateGrad", known.index, "autograd", "backward", () if made is None else (made,),
            ((gradient.dtype, tuple(gradient.shape), "gradient", alias, known.source, -1),),
            frames=recording.level.frames_of(known), made=(gradient,))
        recording.recorder.ran(entry.node)
        number = entry.outputs[0]
        values = recording.values
        if made is not None and made in values.seen and recording.level.exact:
            recording.recorder.saw_same(number, made)
            values.seen.add(number)
        else:
            values.see(number, gradient)
        return entry

    def _write_all(self, optimizer: Any) -> None:
        """What the step made: parameters, states."""
        self.kept.stepped(optimizer, len(self.alive()) == 1)
        if len(self.alive()) == 1:
            self._recording.adds.stepped()
        read, self._read = self._read, []
        self._groups.forget()
        frames = self._recording.frames.here() if read else ()
        number = self.meet(optimizer)
        self._heirs.stepped(optimizer, number, self._rates.frames_of)
        for one in read:
            entry = self._turns.write(one, optimizer) or self._update(optimizer, number, one, frames)
            if self._recording.level.exact and one.tensor.grad is not None:
                self._outside.stepped(one.tensor.grad, one.gradient.outputs[0], entry)

    def _update(self, optimizer: Any, number: int, read: Read, frames: tuple[int, ...]) -> Entry:
        recording = self._recording
        graph, known = recording.graph, read.known
        value = dense(local(read.tensor))
        states = self._states(optimizer, read.tensor)
        sources = tuple(self._state_source(known, key, state) for key, state in states)
        writers = tuple(number for number in (recording.values.known(state) for _, state in states)
                        if number is not None and number not in sources)
        drawn = known.source >= 0 and graph.roles.get(read.now) == "activation"  # param.data = what was computed just now
        outputs = [(value.dtype, tuple(value.shape), "updated", "", -1, known.source if drawn else read.now)]
        outputs += [(state.dtype, tuple(state.shape), "updated", "", -1, source)
                    for (_, state), source in zip(states, sources)]
        again = "" if read.turn == 1 else f"#{read.turn}"
        entry = graph.node(graph.scope(f"update/{known.scope}{again}"), type(optimizer).__name__, known.index,
                           "torch.optim", "update", (read.now, read.gradient.outputs[0]) + sources + read.rate + writers,
                           tuple(outputs), self._groups.settings(optimizer, read.tensor), frames,
                           made=[value] + [state for _, state in states])
        recording.recorder.ran(entry.node)
        for tensor, written in zip(entry.outputs, [value] + [state for _, state in states]):
            recording.values.put(written, tensor)
            recording.values.see(tensor, written)
        self._turns.learn(number, optimizer, read, entry,
                          [(key, state, source) for (key, state), source in zip(states, sources)])
        return entry

    def _states(self, optimizer: Any, tensor: Any) -> list[tuple[str, Tensor]]:
        """Tensors that the optimizer keeps for a parameter; counters of steps say nothing."""
        found = []
        for key, state in optimizer.state.get(tensor, {}).items():
            if isinstance(state, Tensor) and state.dim() > 0:
                found.append((str(key), dense(local(state))))
        return found

    def _state_source(self, known: Parameter, key: str, state: Tensor) -> int:
        recording = self._recording
        here: Optional[int] = recording.values.known(state)
        if here is not None and recording.graph.roles.get(here) in ("state", "updated"):
            return here
        return recording.graph.source(f"state/{known.name}/{key}", state, "state", f"{key}({known.name})")
