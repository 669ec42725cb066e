"""Which tests run which line, and whether they notice a mutant; for processes with torch."""

import itertools
import json
import math
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

LEFT_OUT = "not slow and not flower"


class Covered(NamedTuple):
    """``lines``: {file: {line: [test]}}; ``seconds``: {test: so long}."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def tests(self, file: str, lines: tuple[int, int], most: float = math.inf) -> list[str]:
        """Those that run one of the lines from first to last, the shortest first.

        ``most``: seconds of them, and one at least.
        """
        by = self.lines.get(file, {})
        found = {test for line in range(lines[0], lines[1] + 1) for test in by.get(line, [])}
        tests = sorted(found, key=lambda test: (self.seconds[test], test))
        after = itertools.accumulate(self.seconds[test] for test in tests)
        return [
            test
            for k, (test, end) in enumerate(zip(tests, after, strict=True))
            if end <= most or k == 0
        ]


class Lines:
    """A pytest plugin: the lines of these files that each test runs.

    What a fixture of a whole file runs counts for all tests of that file, and what an import runs
    for all tests.
    """

    def __init__(self, root: Path, files: set[str]) -> None:
        self.root, self.names = str(root) + os.sep, {str(root / file): file for file in files}
        self.now: set[tuple[str, int]] = set()
        self.imported: set[tuple[str, int]] = set()
        self.shared: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.of: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)

    def begin(self) -> None:
        sys.settrace(self._enter)
        threading.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        file = self.names.get(frame.f_code.co_filename)
        if file is None:
            return None
        self.now.add((file, frame.f_lineno))

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            self.now.add((file, frame.f_lineno))
            return step

        return step

    def pytest_collection_finish(self) -> None:
        self.imported, self.now = self.now, set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:
        return (yield from self._during(item, self.shared[item.nodeid.split("::")[0]]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        return (yield from self._during(item, self.of[item.nodeid]))

    def _during(self, item: pytest.Item, into: set[tuple[str, int]]) -> Any:
        began, self.now = time.perf_counter(), set()
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            into |= self.now
            self.seconds[item.nodeid] += time.perf_counter() - began

    def found(self) -> Covered:
        lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for test in self.seconds:
            for file, line in self.of[test] | self.shared[test.split("::")[0]] | self.imported:
                lines[file][line].append(test)
        return Covered(lines, dict(self.seconds))


def quiet(copy: Path, log: Path) -> None:
    """This process runs the tests of a copy, and what it prints goes into a file.

    What was imported from elsewhere before, as scripts/mutate itself does, is forgotten.
    """
    with open(log, "w", encoding="utf-8") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    os.chdir(copy)
    for name in [name for name in sys.modules if name.split(".")[0] in ("fedkin", "tests")]:
        del sys.modules[name]
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)


def without_bytecode() -> None:
    """A mutant leaves none; that of files that stay as they are comes from ``look``."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def named_tests(target: Mapping[str, list[str]]) -> list[str]:
    """The arguments of pytest for a target of targets.toml."""
    left_out = [f"--deselect=tests/{one}" for one in target.get("without", ())]
    return [*(f"tests/{one}" for one in target["tests"]), *left_out]


def look(copy: Path, files: set[str], tests: list[str], into: Path) -> None:
    """Run tests without any mutant, and write down what they cover."""
    quiet(copy, into.with_suffix(".log"))
    plugin = Lines(copy / "fedkin", files)
    plugin.begin()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-m", LEFT_OUT, *tests], plugins=[plugin])
    sys.settrace(None)
    covered = plugin.found()
    into.write_text(json.dumps({"code": int(code), **covered._asdict()}), encoding="utf-8")


def read(path: Path) -> Covered:
    """What ``look`` wrote; raises RuntimeError where tests failed without any mutant, or ran none
    of the lines.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["code"]:
        raise RuntimeError(f"the tests fail without any mutant: {path.with_suffix('.log')}")
    if not content["lines"]:
        raise RuntimeError("the tests ran another copy of fedkin than the one that is changed")
    lines = {
        file: {int(line): tests for line, tests in by.items()}
        for file, by in content["lines"].items()
    }
    return Covered(lines, content["seconds"])


def notice(copy: Path, tests: list[str], log: Path) -> None:
    """Ends with 0 where every test passes."""
    quiet(copy, log)
    without_bytecode()
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", LEFT_OUT, *tests]))
