"""Every number that a page, a table or a frame shows, against the record it is drawn from.

The records are those of tests/awkward.py: no two numbers are equal, no two orders agree.
"""

import json
import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fedkin.report import frames
from fedkin.report.comparison.compare import comparison
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from tests import awkward
from tests.awkward import LOST, ORDERS, ROUNDS, TAKING_PART, VIEWS, accuracy, auc, loss
from tests.report.page.test_report import figures, parsed

LAST = ROUNDS[-1]
CLIENTS = range(len(awkward.SHUFFLED))


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def spread(found: dict[int, float | None], order: str, worst: str = "low") -> dict[str, Any]:
    """What is told of numbers of clients, by hand."""
    known = {k: v for k, v in found.items() if v is not None}
    tests = {k: ORDERS[order][k].test for k in known}
    mean = sum(known.values()) / len(known)
    return {
        "mean": mean,
        "weighted": sum(tests[k] * v for k, v in known.items()) / sum(tests.values()),
        "std": math.sqrt(sum((v - mean) ** 2 for v in known.values()) / len(known)),
        "worst_decile": min(known.values()) if worst == "low" else max(known.values()),
        "clients": len(known),
        "without": len(found) - len(known),
    }


def agree(told: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {name: told[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def by_validation(value: Any, order: str, view: str) -> dict[int, float]:
    """{round: the mean weighted by validation samples}."""
    found = {}
    for at in ROUNDS:
        pairs = [(ORDERS[order][k].val, value(at, k, view, "val")) for k in CLIENTS]
        pairs = [(size, v) for size, v in pairs if v is not None]
        found[at] = sum(size * v for size, v in pairs) / sum(size for size, _ in pairs)
    return found


def on_test(value: Any, at: int, view: str) -> dict[int, float | None]:
    return {k: value(at, k, view, "test") for k in CLIENTS}


def best(found: dict[int, float]) -> int:
    return max(found, key=lambda at: found[at])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("measure", "value"), [("accuracy", accuracy), ("auc", auc)])
def test_headlines(measure: str, value: Any, view: str, order: str, tmp_path: Path) -> None:
    found = summary(awkward.record(tmp_path / "run", order, measure=measure))
    picks = found["headline"][view]
    means = {
        at: float(np.mean([v for v in on_test(value, at, view).values() if v])) for at in ROUNDS
    }
    rounds = {
        "final": LAST,
        "best_by_validation": best(by_validation(value, order, view)),
        "best_on_test": best(means),
    }
    for pick, at in rounds.items():
        assert picks[pick]["round"] == at, pick
        agree(picks[pick], spread(on_test(value, at, view), order))
    low, high = picks["final"]["interval"]
    known = [v for v in on_test(value, LAST, view).values() if v is not None]
    student = stats.t.interval(0.95, len(known) - 1, np.mean(known), stats.sem(known))
    assert (low, high) == pytest.approx(np.clip(student, 0, 1))
    final = found["accuracy"][view]["final"]
    agree(final, spread(on_test(accuracy, LAST, view), order))
    agree(found["measures"][view]["auc"], spread(on_test(auc, LAST, view), order))
    losses: dict[int, float | None] = {k: loss(LAST, k, view, "test") for k in CLIENTS}
    agree(found["loss"][view]["final"], spread(losses, order, worst="high"))


def test_the_weights_of_this_fixture_matter(order: str) -> None:
    """By test samples, by training samples or by none, another round would be chosen."""
    for value in (accuracy, auc):
        for split in ("train", "test", "none"):
            found = {}
            for at in ROUNDS:
                pairs = [(ORDERS[order][k], value(at, k, "personal", "val")) for k in CLIENTS]
                known = [(getattr(one, split, 1), v) for one, v in pairs if v is not None]
                found[at] = sum(size * v for size, v in known) / sum(size for size, _ in known)
            assert best(found) != best(by_validation(value, order, "personal")), split


def test_communication_and_seconds(tmp_path: Path) -> None:
    found = summary(awkward.record(tmp_path / "run"))
    sent = [(at, *one) for at in TAKING_PART for one in awkward.messages(at, TAKING_PART[at])]
    for way in ("up", "down"):
        of = [one for one in sent if one[2] == way]
        unicast, paper = found["communication"]["unicast"], found["communication"]["paper"]
        assert unicast["bytes"][way] == sum(one[4] for one in of)
        assert unicast["scalars"][way] == sum(sum(one[5:]) for one in of)
        first = [one for one in of if way == "up" or one[3] == 0]
        assert paper["bytes"][way] == sum(one[4] for one in first)
        assert paper["scalars"][way] == sum(sum(one[5:9]) for one in first)
        for n, kind in enumerate(("parameters", "predictions", "centroids", "coefficients")):
            assert unicast["by_kind"][kind][way] == sum(one[5 + n] for one in of)
    finish = awkward.messages(LAST, list(CLIENTS))
    assert found["communication"]["finish"]["unicast"]["bytes"] == {
        "up": 0,
        "down": (total := sum(one[3] for one in finish)),
        "total": total,
    }
    local = [10.0 * at + 1 for at in (0, *ROUNDS)]
    assert found["seconds"]["local"] == sum(local)
    assert found["seconds"]["server"] == sum(0.5 + at for at in (0, *ROUNDS))
    totals = [1 + 10 * at + 0.5 + at + 0.25 * at + 7**at / 100 for at in (0, *ROUNDS)]
    assert found["seconds"]["total"] == pytest.approx(sum(totals))
    assert found["seconds"]["per_round"] == pytest.approx(totals[2])
    assert [(one["round"], one["client"], one["reason"]) for one in found["missing"]] == [
        (at, awkward.SHUFFLED[k].name, why) for (at, k), why in LOST.items()
    ]


def last_notes() -> dict[str, dict[int, Any]]:
    """{name: {client: what it told last}}."""
    found: dict[str, dict[int, Any]] = {}
    for _, k, name, text in awkward.notes():
        found.setdefault(name, {})[k] = json.loads(text)
    return found


def cells(text: str, name: str) -> list[list[tuple[str, str]]]:
    """A table of a page: rows of (text, the number to sort by)."""
    part = re.split(rf'<section id="{name}"[^>]*>', text)[1].split("</section>")[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", part.split("<tbody>")[1])
    found = []
    for row in rows:
        pairs = re.findall(r"<t[dh]([^>]*)>(.*?)</t[dh]>", row)
        found.append([(shown(t), (re.findall('data-v="(.*?)"', a) or [""])[0]) for a, t in pairs])
    return found


def shown(html: str) -> str:
    """What a reader sees of a cell."""
    return unescape(re.sub("<[^>]*>", "", html))


def headings(text: str, name: str) -> list[str]:
    part = re.split(rf'<section id="{name}"[^>]*>', text)[1].split("</thead>")[0]
    return [shown(head) for head in re.findall(r"<th [^>]*>(.*?)</th>", part)]


@pytest.mark.rotating
@pytest.mark.parametrize(("measure", "value"), [("accuracy", accuracy), ("auc", auc)])
def test_the_table_of_clients(measure: str, value: Any, order: str, tmp_path: Path) -> None:
    path = write_report(awkward.record(tmp_path / "run", order, measure=measure))
    text = path.read_text(encoding="utf-8")
    rows, heads = cells(text, "table"), headings(text, "table")
    told = last_notes()
    assert len(rows) == len(CLIENTS)
    for k, (cells_, one) in enumerate(zip(rows, ORDERS[order], strict=True)):
        row = dict(zip(heads, cells_, strict=True))
        sizes = {"client": one.name, "model": one.architecture}
        sizes |= {"train": str(one.train), "val": str(one.val), "test": str(one.test)}
        assert {name: row[name][0] for name in sizes} == sizes
        for view in VIEWS:
            expected = value(LAST, k, view, "test")
            number = "" if expected is None else f"{expected:.6g}"
            seen = f"{100 * expected:.2f} %" if expected and measure == "accuracy" else None
            seen = seen or ("–" if expected is None else f"{expected:.4f}")
            assert row[f"{view} {measure.replace('auc', 'AUC')}"] == (seen, number), one.name
        assert row["cluster"][0] == str(told["cluster"].get(k, ""))
        weights = ", ".join(f"{v:.4g}" for v in told["membership"].get(k, []))
        assert row["membership"][0] == weights
        assert row["pull"][0] == (f"{told['pull'][k]:.4g}" if k in told["pull"] else "")
    assert "K = 4" in parsed(path).text


def test_the_tables_of_numbers(order: str, tmp_path: Path) -> None:
    folder = awkward.record(tmp_path / "run", order)
    found = summary(folder)
    text = write_report(folder).read_text(encoding="utf-8")
    rows = iter(cells(text, "numbers"))
    for view in VIEWS:
        for pick, name in (
            ("final", "final"),
            ("best_by_validation", "best by validation"),
            ("best_on_test", "best on test"),
        ):
            numbers = found["headline"][view][pick]
            row = [cell for cell, _ in next(rows)]
            at = "finish" if numbers["round"] == LAST else str(numbers["round"])
            shown = [
                f"{100 * numbers[key]:.2f} %" for key in ("mean", "weighted", "std", "worst_decile")
            ]
            assert row[:7] == [view, name, at, *shown]
            assert (row[7] == "–") == (pick != "final")
    assert next(rows, None) is None
    (personal, shared) = cells(text, "measures")[1::2]
    for view, row in zip(VIEWS, (personal, shared), strict=True):
        of = found["measures"][view]["auc"]
        numbers = [f"{of[key]:.4f}" for key in ("mean", "weighted", "std", "worst_decile")]
        assert [cell for cell, _ in row] == [view, "AUC", *numbers, "5"]
    by_name = {
        (row[0][0], row[1][0]): [c for c, _ in row[2:]] for row in cells(text, "communication")
    }
    part = found["communication"]
    for name, sums in (("paper", part["paper"]), ("unicast", part["unicast"])):
        assert by_name[name, "scalars"] == [
            f"{sums['scalars'][w]:,}" for w in ("up", "down", "total")
        ]
    assert by_name["finish", "bytes"] == [
        "0 B",
        f"{part['finish']['unicast']['bytes']['down'] / 1000:.3g} kB",
        f"{part['finish']['unicast']['bytes']['total'] / 1000:.3g} kB",
    ]
    lost = [[cell for cell, _ in row] for row in cells(text, "left-out")]
    assert lost == [[str(at), ORDERS[order][k].name, why] for (at, k), why in LOST.items()]


def test_key_numbers(order: str, tmp_path: Path) -> None:
    folder = awkward.record(tmp_path / "run", order)
    text = write_report(folder).read_text(encoding="utf-8")
    keys = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    final = spread(on_test(accuracy, LAST, "personal"), order)
    assert keys["final test accuracy"] == f"{100 * final['mean']:.2f} %"
    assert keys["worst tenth of the clients"] == f"{100 * final['worst_decile']:.2f} %"
    of_auc = spread(on_test(auc, LAST, "personal"), order)
    (first, *_) = (row for row in cells(text, "measures") if row[1][0] == "AUC")
    assert first[2][0] == f"{of_auc['mean']:.4f}"


def test_figures(order: str, tmp_path: Path) -> None:
    path = write_report(awkward.record(tmp_path / "run", order))
    drawn = figures(path)
    rows = {name: one["spec"].get("datasets", {}).get("rows") for name, one in drawn.items()}
    members = ORDERS[order]
    finals = {view: on_test(accuracy, LAST, view) for view in VIEWS}

    known = {k: v for k, v in finals["personal"].items() if v is not None}
    assert {row["client"]: row["value"] for row in rows["histogram"]} == {
        members[k].name: v for k, v in known.items()
    }
    ranks = {members[k].name: n + 1 for n, k in enumerate(sorted(known, key=lambda k: known[k]))}
    assert {(r["client"], r["view"]): (r["value"], r["rank"]) for r in rows["clients"]} == {
        (members[k].name, view): (v, ranks[members[k].name])
        for view in VIEWS
        for k, v in finals[view].items()
        if v is not None
    }
    curve = {(row["view"], row["round"]): row for row in rows["rounds"]}
    assert set(curve) == {(view, at) for view in VIEWS for at in ROUNDS}
    for (view, at), row in curve.items():
        values = [v for v in on_test(accuracy, at, view).values() if v is not None]
        expected = {"low": min(values), "mean": float(np.mean(values)), "high": max(values)}
        agree(row, {name: float(f"{v:.5g}") for name, v in expected.items()})
    sent, until = 0, {}
    for at, who in TAKING_PART.items():
        sent += sum(one[3] for one in awkward.messages(at, who))
        until[at] = sent
    assert {(row["view"], row["round"]): row["bytes"] for row in rows["bytes"]} == {
        (view, at): total for view in VIEWS for at, total in until.items()
    }
    counts = awkward.population(order).histogram("train")
    held = [row for row in rows["data"] if "samples" in row]  # the others are the clusters' colours
    assert {(row["client"], row["label"]): row["samples"] for row in held} == {
        (members[k].name, str(c)): n for k in CLIENTS for c, n in enumerate(counts[k]) if n
    }
    assert (members[2].name, "7") not in {(row["client"], row["label"]) for row in held}
    for row in held:
        k = [one.name for one in members].index(row["client"])
        assert row["share"] == pytest.approx(row["samples"] / counts[k].sum(), abs=1e-4)
    kinds = summary(path.parent)["communication"]["unicast"]["by_kind"]
    assert {(row["kind"], row["direction"]): row["scalars"] for row in rows["kinds"]} == {
        (kind, way): of[way] for kind, of in kinds.items() if of["total"] for way in ("up", "down")
    }
    assert {row["part"]: row["seconds"] for row in rows["seconds"]}["local"] == sum(
        10.0 * at + 1 for at in (0, *ROUNDS)
    )


def test_a_chosen_client_has_its_own_numbers(order: str, tmp_path: Path) -> None:
    path = write_report(awkward.record(tmp_path / "run", order))
    scripts = parsed(path).scripts
    places = {figure["name"]: figure["own"] for figure in json.loads(scripts["figures"])}
    owns = json.loads(scripts["owns"])
    line = owns[places["own-score"]]
    assert line["keys"] == [[at] for at in ROUNDS]
    counts = awkward.population(order).histogram("train")
    for k, one in enumerate(ORDERS[order]):
        values = [accuracy(at, k, "personal", "test") for at in ROUNDS]
        assert line["values"][one.name] == [
            None if v is None else round(10_000 * v) for v in values
        ]
        shares = owns[places["own-data"]]["values"][one.name]
        assert shares == pytest.approx((counts[k] / counts[k].sum()).tolist(), abs=1e-4)


def test_frames(order: str, tmp_path: Path) -> None:
    folder = awkward.record(tmp_path / "run", order)
    table = frames.metrics(folder)
    assert len(table) == len(ROUNDS) * len(CLIENTS) * 4
    for row in table.itertuples():
        one = ORDERS[order][row.client]
        expected = accuracy(row.round, row.client, row.view, row.split)
        assert (row.name, row.samples) == (one.name, getattr(one, row.split))
        assert row.loss == loss(row.round, row.client, row.view, row.split)
        assert (expected is None and math.isnan(row.accuracy)) or row.accuracy == expected
    rounds = frames.rounds(folder).set_index("round")
    assert rounds["participants"].to_dict() == {0: 6, 1: 4, 2: 3, 3: 4, 4: 6}
    assert rounds["missing"].to_dict() == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}
    sent = frames.communication(folder)
    assert {(r.round, r.client, r.direction): (r.name, r.bytes) for r in sent.itertuples()} == {
        (at, one[0], one[1]): (ORDERS[order][one[0]].name, one[3])
        for at in (0, *ROUNDS)
        for one in awkward.messages(at, TAKING_PART.get(at, list(CLIENTS)))
    }
    clients = frames.clients(folder)
    assert list(zip(clients["train"], clients["val"], clients["test"])) == [
        (one.train, one.val, one.test) for one in ORDERS[order]
    ]


def test_comparisons(tmp_path: Path) -> None:
    """Two runs side by side, each with its own numbers."""
    runs = [awkward.record(tmp_path / name, name, fingerprint=name) for name in ORDERS]
    found = comparison(runs).runs.set_index("run")
    for name in ORDERS:
        for view in VIEWS:
            final = spread(on_test(accuracy, LAST, view), name)
            for key in ("mean", "weighted", "std"):
                column = f"{view} final {key}"
                assert column in found.columns
                assert found[column][name] == pytest.approx(final[key]), column
