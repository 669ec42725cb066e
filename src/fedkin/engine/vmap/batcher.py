"""Several clients' steps as one: a GPU is idle under the steps of a single client.

Each client's work goes on by itself until it wants to scan batches. When all of a group wait there,
scans that are alike (same step, same shapes) are made side by side, their trees stacked along a
first axis (``torch.vmap``). Methods know nothing of it. One client works at a time, in the order of
the tasks: nothing depends on threads.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from fedkin.core.errors import named_line
from fedkin.core.model import Model
from fedkin.core.ops import ScanStep
from fedkin.core.tree import Tree, leaves, map_tree, stack
from fedkin.engine.vmap.client_thread import ClientThread, ScanRequest
from fedkin.runtime.prepared import Prepared
from fedkin.runtime.replay import Runtime

T = TypeVar("T")


class VmapBatcher:
    """A Scanner for ``run``'s tasks; whoever else asks scans alone.

    Args:
        runtime: Makes the steps.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._here = threading.local()
        self._steps: Prepared[ScanStep] = Prepared()
        self._apart: Prepared[None] = Prepared()

    @property
    def said(self) -> list[str]:
        """What the run record should tell."""
        return self.runtime.said

    def say(self, sentence: str) -> None:
        """Something for the record.

        Args:
            sentence: A text.
        """
        self.runtime.say(sentence)

    def scan(
        self,
        step: ScanStep,
        model: Model,
        carry: Tree,
        blocks: Iterable[Tree],
        constants: tuple[Tree, ...],
    ) -> Tree:
        """Scan beside the other tasks that wait with the same step.

        Args:
            step: A pure function of one client's step.
            model: Whose parameters it moves.
            carry: What goes from step to step.
            blocks: Trees of batches along a first axis.
            constants: What is the same in all steps.

        Returns:
            The carry after the last step.
        """
        thread: ClientThread[Any] | None = getattr(self._here, "thread", None)
        if thread is None:
            return self.runtime.scan(step, model, carry, blocks, constants)
        rest = iter(blocks)
        first = next(rest, None)
        return (
            carry
            if first is None
            else thread.wait(ScanRequest(step, model, carry, first, rest, constants))
        )

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the tasks, which may scan. Raises what the first failing one raised.

        Args:
            tasks: One a client.

        Returns:
            In the order of ``tasks``.
        """
        threads = [ClientThread(task, self._here, self.runtime.device) for task in tasks]
        try:
            while waiting := [thread for thread in threads if thread.run_until_scan()]:
                groups: dict[Any, list[ClientThread[T]]] = {}
                for thread in waiting:
                    groups.setdefault(thread.request.kind, []).append(thread)
                for kind, group in groups.items():
                    self._scan_group(kind, group)
            return [thread.result() for thread in threads]
        finally:
            for thread in threads:
                thread.abandon()

    def _scan_group(self, kind: Any, group: "list[ClientThread[T]]") -> None:
        requests = [thread.request for thread in group]
        results = (
            None
            if len(group) == 1 or kind in self._apart
            else _tried(self._side_by_side, kind, requests)
        )
        for place, thread in enumerate(group):
            if results is None:
                thread.answer = _tried(thread.alone, self.runtime)
            else:
                thread.answer = results if isinstance(results, Exception) else results[place]

    def _side_by_side(self, kind: Any, requests: list[ScanRequest]) -> list[Tree] | None:
        """Where every scan ends; None where the step cannot be one for several (it draws, say),
        which is said once.
        """
        lead, width = requests[0], _width(len(requests))
        places = [*requests, *[lead] * (width - len(requests))]
        shared = tuple(
            _same([one.constants[place] for one in requests])
            for place in range(len(lead.constants))
        )
        constants = tuple(
            lead.constants[place] if one else stack([each.constants[place] for each in places])
            for place, one in enumerate(shared)
        )
        key = lead.step, shared
        if key not in self._steps:
            self._steps.keep(key, side_by_side(lead.step, shared))
        step = self._steps[key]
        carry = stack([each.carry for each in places])
        later: list[None] = []
        blocks = _noted(stacked_blocks([one.blocks() for one in requests], width), later)
        try:
            ended = self.runtime.scan(step, lead.model, carry, blocks, constants)
        # of the step of a user's model; alone, a genuine mistake is its client's error
        except Exception as error:
            if later:
                raise  # they cannot be had again
            self._apart.keep(kind, None)
            self.runtime.say(f"steps of several clients run one by one: {named_line(error)}")
            return None
        return [
            map_tree(lambda leaf, place=place: leaf[place].clone(), ended)
            for place in range(len(requests))
        ]


def side_by_side(step: ScanStep, shared: tuple[bool, ...]) -> ScanStep:
    """``step`` for stacked clients; its batch is (who goes on [clients], the batches), others stay
    where they are.

    shared: of each constant, whether it is one for all rather than stacked.

    Args:
        step: Of one client.
        shared: One entry a constant.

    Returns:
        The step of all.
    """

    @wraps(step)  # of the same origin: what is prepared of it is found by that
    def many(model: Model, carry: Tree, batch: tuple[Tensor, Tree], *constants: Tree) -> Tree:
        def one(goes_on: Tensor, old: Tree, rows: Tree, *rest: Tree) -> Tree:
            return map_tree(
                lambda a, b: torch.where(goes_on, a, b), step(model, old, rows, *rest), old
            )

        live, rows = batch
        dims = (0, 0, 0, *(None if one_for_all else 0 for one_for_all in shared))
        return torch.vmap(one, in_dims=dims)(live, carry, rows, *constants)

    return many


def stacked_blocks(scans: Sequence[Iterator[Tree]], width: int) -> Iterator[tuple[Tensor, Tree]]:
    """Blocks of several clients as one: (live [steps, width], leaves [steps, width, …]), until the
    longest scan ends.

    Who has ended, and places beyond the clients, repeat a batch that is there, and do not live.

    Args:
        scans: Blocks of each client.
        width: Places, at least as many as scans.

    Yields:
        For ``side_by_side``.
    """
    last: list[Tree] = [None] * len(scans)
    while True:
        parts = [next(scan, None) for scan in scans]
        lengths = [0 if part is None else len(leaves(part)[0]) for part in parts]
        steps = max(lengths)
        if not steps:
            return
        full = [_filled(part, seen, steps) for part, seen in zip(parts, last, strict=True)]
        last = [map_tree(lambda leaf: leaf[-1:], part) for part in full]
        live = torch.arange(steps)[:, None] < torch.tensor([*lengths, *[0] * (width - len(scans))])
        threads = [*full, *[full[0]] * (width - len(scans))]
        yield live, map_tree(lambda *rows: torch.stack(rows, 1), threads[0], *threads[1:])


def _noted(blocks: Iterator[T], later: list[None]) -> Iterator[T]:
    """The blocks; ``later`` grows whenever one is asked for beyond the first."""
    for block in blocks:
        yield block
        later.append(None)


def _filled(part: Tree | None, seen: Tree | None, steps: int) -> Tree:
    """A block of exactly ``steps`` batches: its own, then its last one, or the last that was
    ``seen``, repeated.
    """
    own = seen if part is None else part
    last = map_tree(lambda leaf: leaf[-1:].expand(steps, *leaf.shape[1:]), own)
    return last if part is None else map_tree(lambda a, b: torch.cat([a, b[len(a) :]]), part, last)


def _width(clients: int) -> int:
    """The next power of two: few graphs, however many of a group are left."""
    return 1 << (clients - 1).bit_length()


def _same(trees: Sequence[Tree]) -> bool:
    """Whether all are one object, leaf by leaf: a broadcast is not stacked."""
    return all(
        a is b for tree in trees[1:] for a, b in zip(leaves(trees[0]), leaves(tree), strict=True)
    )


def _tried(call: Callable[..., T], *arguments: Any) -> T | Exception:
    try:
        return call(*arguments)
    except Exception as error:
        return error
