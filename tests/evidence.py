"""What the tests prove about each method: ``pytest --certify FILE`` writes it, if and only if
nothing failed.

``@pytest.mark.certifies("comet", "reference")`` says that a passing test is evidence of a kind for
these methods; in ``certifies("law")`` the methods are told by the parameter ``name`` or ``case``
("comet, c = 1" is a case of comet). The nearest marker wins: one at a test over its module's
``pytestmark``. A test adds facts with ``record_property``.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.methods import federation

NAME = "certified"  # in what a worker hands over
KINDS = ("reference", "golden", "closed form", "law", "messages")
NAMING = ("name", "case")  # parameters of a test that tell its method


class Passed(NamedTuple):
    """One passed test of one method. ``place``: of the test among those that were collected, by
    which evidence is in the same order whichever process ran it.
    """

    place: int
    method: str
    kind: str
    id: str
    title: str
    facts: dict[str, Any]  # what it told by record_property
    staged: list[dict[str, Any]]  # the federations of this method that it ran


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("certificates")
    group.addoption(
        "--certify",
        metavar="FILE",  # a str: pytest-xdist sends options to its workers, and no Path
        help="write what the marked tests prove, if none fails",
    )
    group.addoption(
        "--certify-only",
        metavar="NAME,NAME",
        default="",
        help="only the tests marked for these methods",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--certify"):
        witness = Witness(
            Path(config.getoption("--certify")), getattr(config, "workeroutput", None)
        )
        config.pluginmanager.register(witness, "witness")


@pytest.hookimpl(trylast=True)  # what -m and -k deselect is gone by now
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    claimed = {item: claims(item) for item in items}  # always: a wrong marker is told in every run
    wanted = {name for name in config.getoption("--certify-only").split(",") if name}
    if wanted:
        out = [item for item in items if not wanted & {method for method, _ in claimed[item]}]
        items[:] = [item for item in items if item not in set(out)]
        config.hook.pytest_deselected(items=out)


def claims(item: pytest.Item) -> list[tuple[str, str]]:
    """(method, kind) of what a test is evidence for."""
    found: dict[str, tuple[Any, set[str]]] = {}
    for node, marker in item.iter_markers_with_node("certifies"):  # the nearest first
        *names, kind = marker.args or ("",)
        if kind not in KINDS:
            raise pytest.UsageError(
                f"{item.nodeid}: certifies(method names…, kind) with a kind of {', '.join(KINDS)}"
            )
        for name in names or [_named(item)]:
            home, kinds = found.setdefault(name, (node, set()))
            if home is node:
                kinds.add(kind)
    return [(name, kind) for name, (_, kinds) in found.items() for kind in sorted(kinds)]


def _named(item: pytest.Item) -> str:
    params = getattr(item, "callspec", None)
    for parameter in NAMING:
        if params is not None and isinstance(params.params.get(parameter), str):
            return str(params.params[parameter]).split(",")[0]
    raise pytest.UsageError(
        f"{item.nodeid}: certifies names no method, and no parameter is called {NAMING}"
    )


def title(item: pytest.Item) -> str:
    """The first sentence of a test's docstring, or its name in words."""
    said = " ".join(
        ((getattr(item, "obj", None) and item.obj.__doc__) or "").split("\n\n")[0].split()
    )
    name = getattr(item, "originalname", item.name).removeprefix("test_").replace("_", " ")
    if not said:
        return name if " " in name else f"{name}, round by round"
    return said.split(". ")[0].removesuffix(".")


class Witness:
    """Collects, and writes at the end; a worker of pytest-xdist hands over what it has instead.

    ``output``: what a worker's controller gets of it; None in every other process.
    """

    def __init__(self, file: Path, output: dict[str, Any] | None) -> None:
        self.file, self.output = file, output
        self.passed: list[Passed] = []
        self.worst: dict[str, float] = {}
        self.places: dict[str, int] = {}
        self.lost = False  # whether a worker went without a word

    def pytest_sessionstart(self) -> None:
        if self.output is None:
            self.file.unlink(missing_ok=True)  # never an older run's evidence

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.places = {item.nodeid: place for place, item in enumerate(session.items)}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if report.when == "setup":
            federation.STAGED.clear()
        if report.when == "call" and report.passed:
            facts = dict(item.user_properties)
            for method, kind in claims(item):
                staged = sorted(one[1:] for one in federation.STAGED if one.method == method)
                told = [
                    dict(zip(federation.Staged._fields[1:], one, strict=True)) for one in staged
                ]
                where = self.places[item.nodeid]
                one = Passed(where, method, kind, item.nodeid, title(item), facts, told)
                self.passed.append(one)
        return report

    @pytest.hookimpl(trylast=True)  # workers have told what they have by then
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.take([], federation.WORST)
        if self.output is not None:
            self.output[NAME] = json.dumps([self.passed, self.worst])
        elif exitstatus == 0 and not self.lost:
            self.file.write_text(
                json.dumps(self.evidence(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            )

    @pytest.hookimpl(optionalhook=True)  # pytest-xdist's, where a worker is done
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get(NAME)
        if told is None:
            self.lost = True
            return
        passed, worst = json.loads(told)
        self.take([Passed(*one) for one in passed], worst)

    def take(self, passed: list[Passed], worst: Mapping[str, float]) -> None:
        """What one process has seen, beside what others have."""
        self.passed += passed
        for name, gap in worst.items():
            self.worst[name] = max(self.worst.get(name, gap), gap)

    def evidence(self) -> dict[str, Any]:
        methods: dict[str, dict[str, Any]] = defaultdict(lambda: {kind: [] for kind in KINDS})
        for one in sorted(self.passed, key=lambda one: one.place):
            entry = {"id": one.id, "title": one.title, "facts": one.facts, "staged": one.staged}
            methods[one.method][one.kind].append(entry)
        for name, found in methods.items():
            found["gap"] = self.worst.get(name)
        return dict(methods)
