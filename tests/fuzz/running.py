"""One boundary against so many cases: what came of them, and the first one that is a bug."""

import resource
import sys
import time
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, settings

from fedkin.core.errors import FedkinError
from fedkin.data.formats.memory import STATUS, _kilobytes
from tests.fuzz.boundaries import Boundary

SECONDS = 5.0  # of the processor, that one case may take (imports at the first one among them)
WAITING = 60.0  # seconds by the clock, on a busy machine
MEGABYTES = 512  # that all cases of a boundary together may add to the memory in use
LONGEST = 20_000  # letters of a sentence, before the terminal's own bound


class Outcome(NamedTuple):
    """``slowest``: processor seconds of one case; ``more``: megabytes at the most, beyond those
    before.
    """

    cases: int
    refused: int
    seconds: float
    slowest: float
    more: int


def tried(boundary: Boundary, cases: int, seed: int | None = None) -> Outcome:
    """Raises AssertionError, or whatever the boundary let through, with the case that led to it."""
    took: list[float] = []
    refused = 0
    before = _peak()

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=seed is None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(boundary.strategy)
    def each(case: object) -> None:
        nonlocal refused
        began, clock, sentence = time.process_time(), time.perf_counter(), "it was used"
        try:
            boundary.enter(case)
        except FedkinError as error:
            refused, sentence = refused + 1, str(error)
        assert sentence.strip()
        assert len(sentence) < LONGEST
        took.append(time.process_time() - began)
        assert took[-1] < SECONDS, f"it took {took[-1]:.1f} s"
        assert time.perf_counter() - clock < WAITING, "it waited"

    began = time.perf_counter()
    each()
    more = _peak() - before
    assert more < MEGABYTES, f"{more} MB more"
    return Outcome(len(took), refused, time.perf_counter() - began, max(took), more)


def data_in_use() -> int | None:
    """Bytes of this process's data, as RLIMIT_DATA counts them; None where nobody says."""
    return _kilobytes(STATUS, "VmData")


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20
