"""What a run has to have that a stream was played to: counted from the stream alone, by the rules of the graph of a run
(dump/python/record/graph_version.h)."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Set, Tuple

Call = List[Any]


class Union:
    """Of graphs: a reader takes two nodes for the same that have name, type, dtypes and line in common, and of backward
    nodes those that come from the same forward node, first of that name, else of any."""

    def __init__(self) -> None:
        self._known: List[Tuple[Tuple[Any, ...], int]] = []  # by node: what is the same, and its forward node here
        self._by_name: Dict[Tuple[Any, ...], List[int]] = {}
        self._by_forward: Dict[Tuple[Any, ...], List[int]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, nodes: List[Tuple[int, Tuple[Any, ...], int]]) -> None:
        """(number, what is the same, number of its forward node) of each: forward nodes first."""
        here: Dict[int, int] = {}
        used: Set[int] = set()
        for number, same, derived in nodes:
            forward = here.get(derived, -1)
            named = [k for k in self._by_name.get(same, []) if forward < 0 or self._known[k][1] in (-1, forward)]
            others = self._by_forward.get((forward, *same[1:]), []) if forward >= 0 else []
            free = [known for known in [*named, *others] if known not in used]
            if not free:
                free = [len(self._known)]
                self._known.append((same, forward))
                self._by_name.setdefault(same, []).append(free[0])
                self._by_forward.setdefault((forward, *same[1:]), []).append(free[0])
            here[number] = free[0]
            used.add(free[0])


class Expected:
    """Of one rank. `nodes`: of all its graphs (Union). `versions`: graphs that it needs."""

    def __init__(self, stream: List[Call]) -> None:
        self.iterations = self.versions = 0
        self.nodes = Union()
        self._derived: List[int] = []  # by node: from which
        self._phases: List[str] = []
        self._of_parameters: Set[int] = set()  # nodes that make a parameter's gradient
        self._frames: Dict[Tuple[Any, ...], int] = {}
        self._same: List[Tuple[Any, ...]] = []  # by node
        self.finished: str = ""
        self.incomplete = False
        self._shapes: List[List[int]] = []  # by tensor, as wide as they were seen
        self._roles: List[str] = []
        self._producers: List[int] = []
        self._defined: List[Tuple[str, List[int]]] = []  # nodes: name, inputs
        self._variants: Dict[str, int] = {}
        self._revisions: List[int] = []
        self._graph: Dict[str, int] = {}
        self._in_graph: Dict[int, int] = {}  # node -> its revision there
        self._sources: Set[int] = set()
        self._nodes_that_ran: List[int] = []
        self._looked_at: List[int] = []
        self._stale = self._running = False
        for name, *arguments in stream:
            step = getattr(self, f"_{name}", None)
            if step is not None:
                step(*arguments)

    def _tensor(self, shape: List[int], role: str, producer: int) -> None:
        self._shapes.append(list(shape))
        self._roles.append(role)
        self._producers.append(producer)

    def _frame(self, *frame: Any) -> None:
        self._frames.setdefault(frame, len(self._frames))

    def _source(self, name: str, dtype: str, shape: List[int], role: str, *_: Any) -> None:
        self._tensor(shape, role, -1)

    def _node(self, name: str, domain: str, kind: str, phase: str, inputs: List[int], outputs: List[Any],
              attributes: Any, frames: List[int], derived_from: int) -> None:
        lines = [list(self._frames)[frame][:2] for frame in frames if not list(self._frames)[frame][4]]
        same = (name, domain, kind, tuple(output[0] for output in outputs), tuple(lines[:1]))
        line = frames[0] if frames and phase == "forward" and domain not in ("torch", "torch.nn", "python") else -1
        variant = json.dumps([name, domain, kind, phase, line, [output[:1] + output[2:] for output in outputs]])
        known = self._variants.setdefault(variant, len(self._defined))
        if known < len(self._defined):  # it reads something else now
            self._revisions[known] += 1
            self._defined[known], self._same[known], self._derived[known] = (name, inputs), same, derived_from
            return
        self._same.append(same)
        self._derived.append(derived_from)
        self._phases.append(phase)
        if any(output[4] >= 0 for output in outputs):
            self._of_parameters.add(len(self._defined))
        self._revisions.append(0)
        for output in outputs:
            self._tensor(output[1], output[2], len(self._defined))
        self._defined.append((name, inputs))

    def _has(self, tensor: int) -> bool:
        producer = self._producers[tensor]
        return tensor in self._sources if producer < 0 else self._graph.get(self._defined[producer][0]) == producer

    def _role(self, tensor: int, role: str) -> None:
        self._stale |= self._roles[tensor] != role and self._has(tensor)
        self._roles[tensor] = role

    def _begin(self, iteration: int) -> None:
        self._nodes_that_ran, self._looked_at, self._running = [], [], True

    def _ran(self, node: int) -> None:
        self._nodes_that_ran.append(node)

    def _saw(self, tensor: int, dtype: str, shape: List[int]) -> None:
        self._widen(tensor, shape)
        self._looked_at.append(tensor)

    def _saw_same(self, tensor: int, other: int) -> None:
        self._widen(tensor, self._shapes[other])
        self._looked_at.append(tensor)

    def _widen(self, tensor: int, shape: List[int]) -> None:
        have = self._shapes[tensor]
        if have == [-1]:
            return
        wide = [a if a in (b, -1) else -1 for a, b in zip(have, shape)] if len(have) == len(shape) else [-1]
        self._stale |= wide != have
        self._shapes[tensor] = wide

    def _end(self, scalars: Dict[str, float]) -> None:
        self.iterations += 1
        self._use_graph()
        self._running = False

    def _finish(self, state: str, message: str, status: int) -> None:
        if self.finished:
            return
        self.finished = state
        if self._running and self._looked_at and state != "finished":
            self.incomplete = True
            self._use_graph()

    def _use_graph(self) -> None:
        read = {t for node in self._nodes_that_ran for t in self._defined[node][1]} | set(self._looked_at)
        sources = {t for t in read if self._producers[t] < 0}
        ran = {self._defined[node][0]: node for node in self._nodes_that_ran}
        new = any(self._in_graph.get(node) != self._revisions[node] for node in ran.values()) or not sources <= self._sources
        if not (new or self._stale):
            return
        self.versions += 1
        self._stale = False
        self._sources |= sources
        made = set(ran.values())
        for name, node in self._graph.items():  # what did not run stays where its inputs do
            inputs = [self._producers[t] for t in self._defined[node][1]]
            if name not in ran and all(p < 0 or p in made for p in inputs):
                ran[name] = node
                made.add(node)
        self._graph = ran
        self._in_graph = {node: self._revisions[node] for node in ran.values()}
        order = sorted(ran.values(), key=lambda node: self._phases[node] != "forward")  # only the backward pass leads back
        self.nodes.add([(node, self._same[node], self._forward_of(node)) for node in order])

    def _forward_of(self, node: int) -> int:
        """Of a backward pass of a backward pass too. -1: of none, or of a parameter's gradient, which may vary."""
        if self._phases[node] != "backward" or node in self._of_parameters:
            return -1
        for _ in self._derived:
            node = self._derived[node]
            if node < 0 or self._phases[node] == "forward":
                return node
        return -1
