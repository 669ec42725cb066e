"""Pages of records that are made up, as text: what a reader of a page sees, and what its charts are
drawn from.

`python -m tests.report.kept_pages` writes tests/report/kept/*.txt anew. A change of a page shows as
a change of these files, to be read like one of the code.
"""

import hashlib
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from unittest import mock

import altair as alt
import numpy as np

from fedkin.report import intervals, panel, terminal_tables
from fedkin.report.comparison import page as compared
from fedkin.report.comparison import tables
from fedkin.report.comparison.compare import comparison
from fedkin.report.page.content import pages
from fedkin.report.records import opened
from fedkin.report.summary import summary
from fedkin.runs.database import MEASURES, create, put_facts, put_rows
from tests import awkward
from tests.report.comparison.compare_examples import diverge, printed
from tests.report.records_for_tests import FACTS

KEPT = Path(__file__).parent / "kept"
ALTAIR = "6.3"  # another one writes specifications in another way
FEW = 30  # rows that are kept; of more a digest, and the first ones
JSON = re.compile(r'<script type="application/json" id="(\w+)">(.*?)</script>', re.DOTALL)
LOUD = re.compile(r"<style>.*?</style>|<script>.*?</script>", re.DOTALL)
COUNTED = re.compile(r"\b(view|param|concat|layer)_\d+\b")  # altair counts in each process


def page_text(html: str) -> list[str]:
    """The words of a page, a line for each of its parts; then its figures."""
    lines = re.sub(r"<(/?)(td|th)[^>]*>", " ", LOUD.sub("", JSON.sub("", html)))
    lines = re.sub(r"<[^>]*>", "\n", lines)
    words = [" ".join(unescape(line).split()) for line in lines.splitlines()]
    told = {name: json.loads(content) for name, content in JSON.findall(html)}
    marks = re.findall(r"<[^>]*(?:data-|class=|id=|hidden)[^>]*>", LOUD.sub("", JSON.sub("", html)))
    digest = hashlib.sha256("\n".join(marks).encode()).hexdigest()[:12]
    found = [word for word in words if word] + [f"marks {digest}"]
    for drawn in told["figures"]:
        found += figure_text(drawn)
    return found + [f"own {few(own)}" for own in told.get("owns", [])]


def figure_text(drawn: dict[str, Any]) -> Iterator[str]:
    yield f"figure {drawn['name']}: own {drawn['own']}, {drawn['rows']} rows, {drawn['label']}"
    for label, spec in ((drawn["label"], drawn["spec"]), *drawn["others"]):
        rows = spec.pop("datasets")["rows"]
        spec.pop("$schema")
        yield f"rows {label} {few(rows)}"
        yield f"spec {label} {COUNTED.sub('that', compact(spec))}"


def few(value: Any) -> str:
    """All of it where it is short."""
    text = compact(value)
    if len(text) < 100 * FEW:
        return text
    return f"{hashlib.sha256(text.encode()).hexdigest()} {text[: 10 * FEW]} …"


def compact(value: Any) -> str:
    return json.dumps(rounded(value), ensure_ascii=False)


def rounded(value: Any) -> Any:
    """Numbers to six digits: the last ones depend on the processor."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


Notes = Callable[[int, int, np.random.Generator], dict[str, Any]]


def federation(
    folder: Path,
    clients: int,
    rounds: int,
    notes: Notes,
    classes: int = 3,
    salt: int = 0,
    **facts: Any,
) -> Path:
    """A record of random numbers; nothing was trained. Sizes are in no order, two clients share a
    name, one has no label, and everybody misses some rounds. Another ``salt``: another run on the
    same clients.
    """
    rng = np.random.default_rng([clients, rounds])
    folder.mkdir(parents=True)
    told = {**FACTS, "clients": clients, "rounds": rounds, "finished": False, **facts}
    told["class_names"] = [f"class {c}" for c in range(classes)]
    database = create(folder / "run.db", told)
    names = [f"c{k}" for k in rng.permutation(clients)]
    names[2] = names[0]
    sizes = rng.integers(3, 90, (clients, 3)).tolist()
    counts: list[list[int]] = [[] for _ in sizes]
    for k, (n, _, _) in enumerate(sizes if classes else []):
        counts[k] = rng.multinomial(n, rng.dirichlet([0.5] * classes)).tolist()
    counts[1] = []
    models = ["dnn", "mlr", "cnn"]
    rng = np.random.default_rng([clients, rounds, salt])
    with database.commit() as into:
        put_rows(
            into,
            "clients",
            [
                (k, names[k], models[k % 3], *sizes[k], json.dumps(counts[k]))
                for k in range(clients)
            ],
        )
        for at in range(1, rounds + 1):
            here = [k for k in range(clients) if rng.random() < 0.8 or at == rounds]
            part = {"local": 2.5 * at + salt, "server": 0.25, "evaluation": 0.5 + at}
            spent = {**part, "total": sum(part.values()) + 0.125}
            put_rows(into, "rounds", [(at, "round", json.dumps(here), json.dumps(spent))])
            sent = [
                (
                    at,
                    "round",
                    k,
                    way,
                    int(way == "down" and n > 0),
                    300 + k + at + 7 * salt,
                    90 + k + salt,
                    2,
                    0,
                    1,
                    0,
                )
                for n, k in enumerate(here)
                for way in ("up", "down")
            ]
            put_rows(into, "messages", sent)
            scores = [
                (at, k, view, split, float(rng.gamma(2)), float(rng.beta(4 + at, 4)))
                for k in here
                for view in ("global", "personal")
                for split in ("val", "test")
            ]
            put_rows(into, "metrics", scores)
            rows = [
                (at, k, name, json.dumps(value))
                for k in here
                for name, value in notes(at, k, rng).items()
            ]
            put_rows(into, "notes", [*rows, (at, -1, "spread", json.dumps(1 / at))])
            if at % 3 == 0:
                put_rows(into, "events", [(at, here[-1], "missing", "cut off")])
        put_facts(into, {"finished": facts.get("finished", True), "fingerprint": "f00d"})
    database.close()
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(MEASURES)
        connection.executemany(
            "INSERT INTO measures VALUES (?, ?, ?, 'test', ?, ?)",
            [
                (rounds, k, view, name, float(rng.random()))
                for k in range(clients)
                for view in ("personal", "global")
                for name in ("auc", "sensitivity", "ece")
            ],
        )
    return folder


def with_few_weights(at: int, k: int, rng: np.random.Generator) -> dict[str, Any]:
    """Of those alone that were asked, as {client: weight}."""
    asked = rng.choice(8, 2, replace=False).tolist()
    return {"weights": {str(one): round(float(rng.random()), 4) for one in asked}, "steps": 3 * k}


def in_groups(kinds: int, parts: int) -> Notes:
    """Clusters that settle, memberships that become clear."""

    def notes(at: int, k: int, rng: np.random.Generator) -> dict[str, Any]:
        moved = (k + (at < 4) * int(rng.integers(0, kinds))) % kinds
        sure = np.full(parts, 1.0)
        sure[k % parts] += at * (1 + k % 4)
        return {
            "cluster": moved,
            "membership": np.round(sure / sure.sum(), 4).tolist(),
            "pull": round(float(rng.random()), 4),
        }

    return notes


def with_weights(clients: int) -> Notes:
    """Whom each learns from, and what PersFL tells."""

    def notes(at: int, k: int, rng: np.random.Generator) -> dict[str, Any]:
        return {
            "weights": np.round(rng.dirichlet([0.4] * clients), 4).tolist(),
            "teacher_round": int(rng.integers(0, at + 1)),
            "imitation": [0.0, 0.25, 0.5][k % 3],
            "temperature": [1.0, 3.0][k % 2],
        }

    return notes


def joins(name: str, labels: int | None, accuracy: float | None) -> dict[str, Any]:
    """One held-out client that joined."""
    test = {"loss": 0.75, "accuracy": accuracy}
    size = {"train": 14, "val": 5, "test": 10 * len(name)}
    return {
        "client": name,
        "asked": labels,
        "rounds": 2,
        "place": 1,
        "places": 3,
        "chosen_by": "validation",
        "scores": {"personal": {"test": test, "val": {"loss": 1.5, "accuracy": 0.5}}},
        "measures": {"personal": {"test": {"auc": 0.625}}},
        "notes": {"cluster": 2},
        "bytes": {"up": 100, "down": 2000},
        "scalars": {"up": {"parameters": 25}, "down": {"parameters": 500}},
        "seconds": 1.5,
        **size,
    }


def page_of(folder: Path) -> list[str]:
    with opened(folder) as run:
        found = pages(run)
    rows = [] if found.clients is None else found.clients.splitlines()
    return [
        *page_text(found.html),
        *rows,
        *printed(terminal_tables.show(summary(folder))).split("\n"),
    ]


def awkward_one(folder: Path) -> list[str]:
    return page_of(awkward.record(folder / "run"))


def groups(folder: Path) -> list[str]:
    """Thirteen clients, a run of local beside it, and held-out clients."""
    unseen = [joins("new", 5, 0.5), joins("other", 5, 0.25), joins("new", None, 0.75)]
    unseen.append(joins("other", None, None))
    federation(folder / "local", 13, 14, in_groups(3, 3), salt=1, method="local")
    return page_of(federation(folder / "run", 13, 14, in_groups(3, 3), newcomers=unseen))


def learning_from_others(folder: Path) -> list[str]:
    return page_of(federation(folder / "run", 9, 7, with_weights(9), finished=False))


def learning_from_few(folder: Path) -> list[str]:
    """Validation was best earlier, by 1.2 points."""
    made = federation(folder / "run", 8, 10, with_few_weights, classes=2)
    with sqlite3.connect(made / "run.db") as connection:
        shares = {at: 0.5 + 0.001 * (at == 8) + 0.012 * (at == 3) for at in range(1, 11)}
        for at, share in shares.items():
            connection.execute(
                "UPDATE metrics SET accuracy = ? WHERE split = 'val' AND round = ?", (share, at)
            )
    return page_of(made)


def many(folder: Path) -> list[str]:
    """More clients than have a line, more clusters than colours, more classes than fit."""
    return page_of(federation(folder / "run", 64, 11, in_groups(10, 4), classes=14))


def to_the_edge(folder: Path) -> list[str]:
    """As many clients, rounds, classes and clusters as are still shown one by one."""
    return page_of(federation(folder / "run", 60, 30, in_groups(8, 3), classes=30))


def beyond_the_edge(folder: Path) -> list[str]:
    """One more of each, and two components, which lie on a line."""
    return page_of(federation(folder / "run", 31, 61, in_groups(9, 2), classes=31))


def a_panel(folder: Path) -> list[str]:
    """As of more clients than a page shows."""
    small = federation(folder / "run", 14, 5, in_groups(2, 2))
    with (
        mock.patch.object(panel, "LARGE", 8),
        mock.patch.object(panel, "EACH", 3),
        mock.patch.object(intervals, "LARGE", 8),
    ):
        return page_of(small)


def without_accuracy(folder: Path) -> list[str]:
    """A regression, by its error."""
    made = federation(folder / "run", 7, 6, in_groups(2, 2), classes=0, measure="rmse")
    with sqlite3.connect(made / "run.db") as connection:
        connection.execute("UPDATE metrics SET accuracy = NULL")
        connection.execute("UPDATE measures SET name = 'rmse' WHERE name = 'auc'")
    return page_of(made)


def side_by_side(folder: Path) -> list[str]:
    """Three methods, two of them under two seeds, one in two settings, one that stopped and one
    that diverged.
    """
    made = []
    for name, method, hyper, seed in (
        ("comet-1", "comet", {"lam": 0.5}, 1),
        ("local-2", "local", {}, 2),
        ("comet-2", "comet", {"lam": 0.5}, 2),
        ("local-1", "local", {}, 1),
        ("ditto-b", "ditto", {"lam": 2.0}, 1),
        ("ditto-a", "ditto", {"lam": 1.0}, 1),
    ):
        told = {"method": method, "hyper": hyper, "seed": seed}
        spec = {**FACTS["spec"], "run": {"seed": seed}, "method": {"name": method, **hyper}}
        salt = len(made)
        run = federation(folder / name, 9, 4, in_groups(2, 2), salt=salt, **told, spec=spec)
        if method == "ditto":
            with sqlite3.connect(run / "run.db") as connection:
                connection.execute("UPDATE metrics SET accuracy = min(1, accuracy + ?)", (0.2,))
        made.append(run)
    chosen = comparison(made[3:], best=True)  # one seed each
    federation(folder / "half", 9, 4, in_groups(2, 2), salt=6, method="fedavg", finished=False)
    federation(folder / "wild", 9, 4, in_groups(2, 2), salt=7, method="scaffold", hyper={})
    diverge(folder / "wild", 3)
    found = comparison([*made, folder / "half", folder / "wild"])
    return [
        *page_text(compared.page(found)),
        *tables.markdown(found).splitlines(),
        *printed(tables.compare(found), 160).splitlines(),
        *json.dumps(rounded(tables.plain(found)), indent=1, default=str).splitlines(),
        *tables.markdown(chosen).splitlines(),
        *printed(tables.compare(chosen), 160).splitlines(),
    ]


CASES: dict[str, Callable[[Path], list[str]]] = {
    "awkward": awkward_one,
    "groups": groups,
    "learning_from_others": learning_from_others,
    "learning_from_few": learning_from_few,
    "many": many,
    "to_the_edge": to_the_edge,
    "beyond_the_edge": beyond_the_edge,
    "panel": a_panel,
    "without_accuracy": without_accuracy,
    "side_by_side": side_by_side,
}


def made(case: str) -> list[str]:
    """The lines of a case; those of specifications only where altair is the version of the kept
    ones.
    """
    with tempfile.TemporaryDirectory(prefix="kept-") as folder:
        lines = [line.replace(folder, "DIR").rstrip() for line in CASES[case](Path(folder))]
    return comparable(lines)


def kept(case: str) -> list[str]:
    return comparable((KEPT / f"{case}.txt").read_text(encoding="utf-8").splitlines())


def comparable(lines: list[str]) -> list[str]:
    same = alt.__version__.startswith(f"{ALTAIR}.")
    return [line for line in lines if same or not line.startswith("spec ")]


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name in CASES:
        (KEPT / f"{name}.txt").write_text("\n".join(made(name)) + "\n", encoding="utf-8")
