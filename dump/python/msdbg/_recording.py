"""The recording of this process: opened when there is something to record, an iteration after the other, ended with
the program. What a level sees it tells through here. Errors of ours end the recording, never the training.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Callable, Optional

from msdbg import _arm, _crash, _evaluations, _frameworks, _identity, _notes, _spikes, _stopping
from msdbg._by_hand import ByHand
from msdbg._cycle import Cycle
from msdbg._frames import Frames, places_of
from msdbg._graph import Graph
from msdbg._modes import Modes
from msdbg._names import Names
from msdbg._patches import Patches
from msdbg._reach import Reach
from msdbg._settings import Settings, which_run
from msdbg._values import Values


class Recording:
    """Threads: that which trains, and autograd's, which run while it waits."""

    def __init__(self, settings: Settings, module: Any) -> None:
        """`module`: msdbg._record, or another one with its open()."""
        self.settings = settings
        self.names = Names()
        self.cycle = Cycle()
        self.patches = Patches()
        self.modes = Modes(self)
        self.reach = Reach(self)
        self.shuffled = 0  # batches so far of loaders that shuffle
        self.by_hand = ByHand(self)
        self.optimizers: Any = None  # _optimizers.Optimizers
        self.adds: Any = None  # _adds.Adds
        self.level: Any = None  # how it is recorded now: _train.Train, ...
        self.make_level: Callable[[str], Any] = lambda name: None
        self.iteration = 0
        self.scalars: dict[str, float] = {}
        self.watching = False  # between begin and end of an iteration
        self.scaling = False  # within GradScaler.step(), which says itself what happened
        self.trying = False  # an optimizer calls its closure again, at points that it tries
        self.recorder: Any = None
        self.graph: Graph
        self.values: Values
        self.frames: Frames
        self.module = module
        self._watch_folder()
        self.over = False
        self._since = time.perf_counter()
        self._explicit = 0  # step() calls since an optimizer ended an iteration
        self._lock = threading.RLock()

    # --- an iteration ---

    def ready(self) -> bool:
        """An iteration is being recorded; it begins now if none is. False: nothing is recorded (any more)."""
        if self.watching:
            return True
        return not self.over and self.guard(self._begin) is True

    def _begin(self) -> bool:
        if self.recorder is None:
            self._open()
        if not self.recorder.active():
            return False
        self.recorder.begin(self.iteration)
        self.watching = True
        self.level.began()
        return True

    def end_iteration(self) -> None:
        """It is complete. The next one begins with the next thing that is recorded."""
        if not self.watching:
            return
        hit = self.guard(self._end)
        if hit:
            self._stop(hit)

    def _end(self) -> Optional[str]:
        """The hit that the training is to stop for."""
        now = time.perf_counter()
        self.scalars["step_time"] = now - self._since
        self._since = now
        self.modes.ending()
        self.level.ending()
        self.reach.iteration_ended()
        self.watching = False
        self._explicit = 0
        self.cycle.ended()
        self.values.clear()
        self.graph.new_iteration()
        self.optimizers.new_iteration()
        scalars, self.scalars = self.scalars, {}
        for path, kind in self.names.new_classes().items():
            self.recorder.module(path, kind)
        for axis, (index, size) in self.names.mesh.new_axes().items():
            self.recorder.mesh(axis, index, size)
        self.recorder.end(scalars)
        self._deepen(scalars)
        hit = self._stopping.ended(self.iteration, self.recorder.stop_hit())
        self.iteration += 1
        self._choose_level()
        return hit

    def _stop(self, hit: str) -> None:
        """Out of the program's step, through its `finally` and `with`, as from sys.exit(): launchers start nothing
        again, and other ranks do the same after this iteration."""
        text = _stopping.text_of(hit, _identity.rank_and_ranks()[0])
        if text:
            print(f"msdbg: {text}: training stops after iteration {self.iteration - 1} (--stop-on-hit)", file=sys.stderr)
        self.over = True
        self.guard(self._close, lambda: self.recorder.finish_on_hit(hit))
        raise SystemExit(0)

    def _deepen(self, scalars: dict[str, float]) -> None:
        """Asks for level ops where the loss goes wrong at a cheaper one."""
        if self._spikes is None or self.level.name == "ops":
            return
        try:
            self._spikes.ended(self.iteration, scalars)
        except OSError as error:
            self._spikes = None
            print(f"msdbg: warning: level ops cannot be asked for: {error}", file=sys.stderr)

    def _choose_level(self) -> None:
        wanted = self._armed(self.iteration)
        if self.level is not None and wanted != self.level.name:
            self.level.stop()
            self.level = self.make_level(wanted)
            self.level.start()
        else:
            self.level.new_iteration()

    def trains(self) -> bool:
        """There is something that changes parameters."""
        return self.cycle.any() or self._explicit > 0 or self.by_hand.on

    # --- life ---

    def _open(self) -> None:
        rank, ranks = _identity.rank_and_ranks()
        self._choose_attempt(rank)
        untested = _frameworks.warning(self.optimizers.kinds() + [type(root) for root in self.names.roots()])
        if rank == 0 and untested:
            print(f"msdbg: {untested}", file=sys.stderr)
        run_id = which_run(self.settings, rank)
        self.recorder = self.module.open(self.settings.as_json(rank, ranks, run_id))
        if rank == 0 and ranks > 1 and not self.settings.launcher:
            _identity.tell_run(self.recorder.run_id())
        _crash.watch(self.settings.run, rank)
        _evaluations.record(self)
        self.frames = Frames(self.recorder)
        self.graph = Graph(self.recorder, self.frames.own)
        self.values = Values(self.recorder, self.graph, self.names)

    def _choose_attempt(self, rank: int) -> None:
        self.settings = self.settings.of_attempt(rank)
        if self.settings.attempt > 1:
            self._watch_folder()
        if self.settings.makes:
            print(f"msdbg: the program was started again: attempt {self.settings.attempt} is recorded into "
                  f"{self.settings.run}", file=sys.stderr)

    def _watch_folder(self) -> None:
        """Where requests for other levels come from, and go to."""
        self._armed = _arm.Armed(self.settings.run, self.settings.level).level
        ranks = _identity.rank_and_ranks()[1]
        self._stopping = _stopping.Stopping(self.settings.run, ranks)
        self._spikes = _spikes.Spikes(self.settings.run, ranks) if _spikes.wanted() is not False else None

    def start(self, make_level: Callable[[str], Any]) -> None:
        self.make_level = make_level
        self.level = make_level(self.settings.level)
        self.level.start()

    def finish(self, state: str, message: str, status: int) -> None:
        """The first call counts: "finished", "failed" or "stopped"."""
        if self.over:
            return
        if state == "finished":
            self._end_last_step()
        self.over = True
        if self.recorder is not None and self.iteration == 0 and state == "finished":
            print(f"msdbg: warning: no iteration was recorded: {self.level.nothing}", file=sys.stderr)
        self._close(lambda: self.recorder.finish(state, message, status))

    def _close(self, finish: Callable[[], Any]) -> None:
        self.watching = False
        if self.level is not None:
            self.level.stop()
        if self.recorder is None:
            _notes.reason(self.level.nothing if self.level is not None else "nothing was recorded")
            return
        self.values.clear()
        finish()
        _crash.leave()

    def _end_last_step(self) -> None:
        """A program that has no optimizer says nothing at the end of the last step."""
        by_hand = (self.by_hand.on and self.by_hand.begun) or (self._explicit > 0 and not self.cycle.any())
        if self.watching and by_hand and self.values.seen:
            self.guard(self.by_hand.said)
            self.level.flush()
            self.guard(self._end)

    def raised(self, error: BaseException) -> None:
        """Nobody catches it: a node of its own, with the lines that it went through, in the iteration in progress; in the
        first one also before anything of it was recorded."""
        if self.over or not (self.watching or (self.recorder is None and self.trains() and self.ready())):
            return
        entry = self.graph.node(self.graph.scope("main"), type(error).__name__, 1, "python", "forward", (),
                                (("torch.bool", (), "activation", "", -1, -1),), frames=self.frames.of(places_of(error)))
        self.recorder.ran(entry.node)
        self.recorder.failed_at(entry.node)

    def abandon(self) -> None:
        """In a child that was forked: the recording stays the parent's."""
        self.over = True
        self.watching = False
        if self.level is not None:
            self.level.stop()
        self.patches.undo()
        _crash.forget()
        if self.recorder is not None:
            self.recorder.child()

    def guard(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """What we do in the midst of a training; returns None where it failed, and ends the recording then."""
        try:
            return action(*arguments)
        except Exception as error:  # noqa: BLE001: whatever it is, the training goes on
            self.failed(error)
            return None

    def failed(self, error: BaseException) -> None:
        if self.settings.strict:
            raise error
        if self.over:
            return
        where = f"rank {_identity.rank_and_ranks()[0]}, iteration {self.iteration}"
        text = f"recording ended, the training goes on: {type(error).__name__}: {error} ({where})"
        print(f"msdbg: warning: {text}", file=sys.stderr)
        if os.environ.get("MSDBG_TRACEBACK") == "1":
            import traceback
            traceback.print_exception(type(error), error, error.__traceback__)
        if self.recorder is None:
            _notes.reason(f"{type(error).__name__}: {error}")
        try:
            self.finish("failed", f"the recorder failed: {error}", 0)
        except Exception as second:  # noqa: BLE001: said already why
            print(f"msdbg: warning: and the run could not be closed: {second}", file=sys.stderr)

    # --- what a script may say ---

    def step(self, number: int) -> None:
        self.guard(self.by_hand.said)
        if self.watching and self._explicit > 0:
            self.level.flush()
            self.end_iteration()
        self._explicit += 1
        if self.level is not None and not self.over:
            self.level.optimizer_made()  # a training has begun, whatever changes its parameters
        if not self.over:
            self.scalars["step"] = float(number)

    def watch(self, tensor: Any, name: str) -> None:
        if self.ready():
            self.guard(self.level.watch, tensor, name)

    def number_of(self, value: Any) -> float:
        """float(value), of which nothing is recorded where it is a tensor."""
        if self.level is None or self.over:
            return float(value)
        self.level.suspend()
        try:
            return float(value.detach() if hasattr(value, "untyped_storage") else value)
        finally:
            self.level.resume()

    def metric(self, name: str, value: float) -> None:
        if self.recorder is not None and not self.over:
            self.guard(self.recorder.metric, name, value)

    def enter_scope(self, name: str) -> Callable[[], None]:
        enter: Optional[Callable[[str], Callable[[], None]]] = getattr(self.level, "enter_scope", None)
        return enter(name) if enter is not None else _nothing


def _nothing() -> None:
    pass
