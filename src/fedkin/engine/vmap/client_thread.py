"""One client's work as a task that can be left waiting: in a thread of its own, of which one at a
time works.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import torch

from fedkin.core.model import Model
from fedkin.core.ops import ScanStep
from fedkin.core.tree import Tree, row
from fedkin.runtime.device import CPU
from fedkin.runtime.generators import everyones, kept, restore, states
from fedkin.runtime.replay import Runtime, kind_of

T = TypeVar("T")


class ScanRequest(NamedTuple):
    """What one client wants to scan, and from where; ``first`` is the first of
    its blocks.
    """

    step: ScanStep
    model: Model
    carry: Tree
    first: Tree
    rest: Iterator[Tree]
    constants: tuple[Tree, ...]

    @property
    def kind(self) -> Any:
        """Equal for scans that can be made side by side."""
        return kind_of(self.step, self.model, (self.carry, row(self.first, 0), *self.constants))

    def blocks(self) -> Iterator[Tree]:
        """The blocks of the scan, the first one again.

        Yields:
            Trees of batches along a first axis.
        """
        yield self.first
        yield from self.rest


class _Left(BaseException):
    """Ends a task that nobody waits for any more."""


class ClientThread(Generic[T]):
    """One task in a thread of its own that works only between ``run_until_scan`` and its next wait.

    What is drawn from (torch's generators, Python's, NumPy's) is each task's own: what a module
    draws (dropout) is what it would draw alone.

    Args:
        task: One client's work.
        here: Where the thread leaves itself, for whoever it asks.
        device: Where the work computes, whose generators are each task's own.
    """

    request: ScanRequest
    answer: Tree | Exception

    def __init__(
        self, task: Callable[[], T], here: threading.local, device: torch.device = CPU
    ) -> None:
        self._task, self._here = task, here
        self._mine, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._done, self._gone = False, False
        self._outcome: T | BaseException | None = None
        self._generators = everyones(device)
        self._draws = states(self._generators)
        self._threads = torch.get_num_threads()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def run_until_scan(self) -> bool:
        """Let the task work until it waits (``request`` is what for) or ends; False once
        it has ended.

        Returns:
            False once it has ended.
        """
        if not self._done:
            self._drawing(self._switch)
        return not self._done

    def alone(self, runtime: Runtime) -> Tree:
        """Its scan by itself, with its own draws.

        Args:
            runtime: What scans.

        Returns:
            The carry after the last step.
        """
        asked = self.request
        result: list[Tree] = []
        self._drawing(
            lambda: result.append(
                runtime.scan(asked.step, asked.model, asked.carry, asked.blocks(), asked.constants)
            )
        )
        return result[0]

    def wait(self, request: ScanRequest) -> Tree:
        """Called by the task: where the scan ends.

        Args:
            request: What is asked for.

        Returns:
            The carry after its last step.

        Raises:
            Exception: What the step raised.
        """
        self.request = request
        self._paused.release()
        self._mine.acquire()
        if self._gone:
            raise _Left
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def result(self) -> T:
        """What the task gave, once it has ended; whatever it raised is raised here.

        Returns:
            Of the task.

        Raises:
            BaseException: What the task raised.
        """
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]

    def abandon(self) -> None:
        """End a task that was given up."""
        if not self._done:
            self._gone = True
            self._switch()

    def _switch(self) -> None:
        self._mine.release()
        self._paused.acquire()

    def _drawing(self, work: Callable[[], None]) -> None:
        with kept(self._generators):
            restore(self._generators, self._draws)
            try:
                work()
            finally:
                self._draws = states(self._generators)

    def _work(self) -> None:
        self._here.thread = self
        self._mine.acquire()
        torch.set_num_threads(self._threads)
        try:
            self._outcome = None if self._gone else self._task()
        except BaseException as error:  # handed to whoever asks for the result
            self._outcome = error
        self._done = True
        self._paused.release()
