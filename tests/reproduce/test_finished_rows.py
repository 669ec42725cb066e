"""Rows that another machine finished."""

import json
import os
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.reproduce import running
from fedkin.reproduce.finished_rows import CLAIMS, FinishedRun, digest, filled, read, text_of
from fedkin.reproduce.finished_rows import COLUMNS as KEPT
from fedkin.reproduce.outcome import joined
from fedkin.reproduce.preset import preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.running import known, outcomes
from fedkin.reproduce.same_settings import digest_of
from fedkin.runs.spec import parse
from tests.cli.command import fedkin


def test_finished_rows_of_another_machine_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed as CSV is not run again, as long as the settings are the same."""
    monkeypatch.chdir(tmp_path)
    quick = ["--set=run.rounds=2", "--set=engine.name=inprocess", "--set=data.clients=4"]
    asked = ["reproduce", "ppfl-figure-8", "--json", *quick, "--rows", "N2"]
    (here,) = json.loads(fedkin(*asked, "--out", "a").stdout)["lines"]
    kept = read(tmp_path / "a")
    (one,) = kept.values()
    assert (one.row, one.seed) == (here["row"], 0)
    assert one.numbers["accuracy"] == here["measured"]
    assert set(one.numbers) == {"accuracy", "scalars"}  # which other presets ask of the same runs
    assert len(one.fingerprint) > 10
    (tmp_path / "a" / "claims.csv").write_text("claim,verdict\n")  # stands there, too
    (there,) = json.loads(fedkin(*asked, "--out", "b", "--from", "a").stdout)["lines"]
    assert (there["measured"], there["seeds"]) == (here["measured"], [0])
    assert not (tmp_path / "b" / "runs").exists()  # nothing was trained
    assert (
        "taken from its CSV as settings are equal: 1 run"
        in (tmp_path / "b" / "ppfl-figure-8.md").read_text()
    )
    assert (tmp_path / "b" / "ppfl-figure-8.csv").read_text() == (
        tmp_path / "a" / "ppfl-figure-8.csv"
    ).read_text()
    (more,) = json.loads(fedkin(*asked, "--out", "b", "--from", "a", "--seeds", "2").stdout)[
        "lines"
    ]
    assert more["seeds"] == [0, 1]
    assert [path.name for path in (tmp_path / "b" / "runs").iterdir()] == [f"{here['row']}-seed1"]
    other = [*asked, "--set=method.lam=0.5", "--finished", "--out", "c", "--from", "a"]
    (line,) = json.loads(fedkin(*other).stdout)["lines"]
    assert line["missing"] == "not run yet"  # another setting is not taken


def test_a_run_made_here_is_held_against_the_line_that_tells_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--set=run.rounds=1", "--set=engine.name=inprocess", "--set=data.clients=4"]
    asked = ["reproduce", "ppfl-figure-8", *quick, "--rows", "N2", "--out", "a"]
    fedkin(*asked)
    (one,) = read(tmp_path / "a").values()

    def note(told: FinishedRun) -> str:
        (tmp_path / "b").mkdir(exist_ok=True)
        (tmp_path / "b" / "x.csv").write_text(text_of([told]))
        assert fedkin(*asked, "--finished", "--from", "b").exit_code == 0
        return (tmp_path / "a" / "ppfl-figure-8.md").read_text()

    said = "Run here with another fingerprint than the CSV tells"
    assert said not in note(one)
    assert f"it must not be): {one.row}, seed 0." in note(one._replace(fingerprint="other"))
    assert said not in note(one._replace(fingerprint="other", version="0.0.1"))
    assert said not in note(one._replace(fingerprint="other", settings="others"))


def line_of(settings: str, fingerprint: str, value: float = 1.0) -> str:
    return ",".join(KEPT) + f"\nr,0,accuracy,{value},1.0,{settings},{fingerprint},v\n"


def test_two_files_hide_nothing_of_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(line_of("s", "f"))
    (tmp_path / "b.csv").write_text(line_of("t", "g", 2.0))
    assert [one.numbers["accuracy"] for one in read(tmp_path).values()] == [1.0, 2.0]
    (tmp_path / "b.csv").write_text(line_of("s", "f"))
    assert len(read(tmp_path)) == 1
    (tmp_path / "b.csv").write_text(line_of("s", "g", 2.0))
    with pytest.raises(
        FedkinError, match=r"a\.csv and .*b\.csv tell of different runs of r, seed 0"
    ):
        read(tmp_path)
    (tmp_path / "b.csv").write_text(line_of("t", "f") + line_of("t", "g").split("\n", 1)[1])
    with pytest.raises(FedkinError, match=r"b\.csv: line 3 tells of another run of r, seed 0"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "is no file of finished rows: its columns are row, seed, measure"),
        (
            ",".join(KEPT) + "\nr,0,accuracy,nan,1,s,f,v\n",
            "line 2 has no numbers where seed, value and seconds belong",
        ),
        (",".join(KEPT) + "\nr,0,accuracy,1,1,s,f\n", "line 2 has not 8 cells: row, seed"),
        (",".join(KEPT) + "\nr,0,accuracy,1,1,s,f,v,w\n", "line 2 has not 8 cells: row, seed"),
        (",".join(KEPT) + "\nr,0,accuracy,1,-1,s,f,v\n", "line 2 has -1 seconds: a run takes 0"),
        (
            ",".join(KEPT) + "\nr,zero,accuracy,1,1,s,f,v\n",
            "line 2 has no numbers where seed, value and seconds belong",
        ),
        *(
            (
                ",".join(KEPT) + f"\nr,{cells},s,f,v\n",
                "line 2 has no numbers where seed, value and seconds belong",
            )
            for cells in (
                "1_0,accuracy,1,1",
                "0,accuracy,9_0.5,1",
                "0,accuracy,1,1_0",
                "0,accuracy,1e999,1",
                f"{'9' * 5000},accuracy,1,1",
            )
        ),
    ],
)
def test_a_csv_that_is_no_file_of_finished_rows_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FedkinError, match=said):
        read(tmp_path)


def test_finished_rows_that_a_spreadsheet_saved_are_read(tmp_path: Path) -> None:
    """It begins the file with a byte-order mark and ends lines its own way."""
    text = line_of("s", "f", 1e-07) + "r,1,accuracy,-2.5E+3,,s,g,v\n"
    (tmp_path / "x.csv").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    one, other = read(tmp_path).values()
    assert (one.seed, one.numbers, one.seconds) == (0, {"accuracy": 1e-07}, 1.0)
    assert (other.seed, other.numbers, other.seconds) == (1, {"accuracy": -2500.0}, None)


def test_a_pipe_among_finished_rows_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes have names on this system")
    os.mkfifo(tmp_path / "x.csv")
    with pytest.raises(FedkinError, match=r"x\.csv cannot be read: it is a device or a pipe"):
        read(tmp_path)


def test_numbers_that_follow_from_a_line_are_filled_in() -> None:
    one = FinishedRun("r", 0, {"accuracy": 90.0}, 90.0, "s", "f", "v")
    names = ["rounds", "processor minutes", "scalars", "accuracy"]
    spec = parse({"run": {"rounds": 7}})[0]
    follow = {"rounds": 7.0, "processor minutes": 1.5}
    assert filled(one, spec, names).numbers == {"accuracy": 90.0, **follow}
    assert filled(one, spec, ["accuracy"]) == one  # nothing that nobody asks for
    told = one._replace(numbers={"rounds": 6.0}, seconds=None)
    assert filled(told, spec, names).numbers == {"rounds": 6.0}  # the line's own counts
    for early in (
        {"run": {"patience": 2}},
        {"privacy": {"noise": 1.0, "clip": 1.0, "delta": 1e-5, "budget": 3.0}},
    ):
        spec = parse(early)[0]
        assert "rounds" not in filled(one, spec, names).numbers  # training may have ended before


@pytest.mark.parametrize(
    ("name", "seeds", "measure", "whole"),
    [
        ("persfl-table-7", 5, "rounds", True),
        ("ppfl-table-3", 3, "processor minutes", True),
        ("ppfl-figure-5", 3, "scalars", False),
    ],
)
def test_presets_of_the_same_runs_take_the_rows_that_are_kept(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    seeds: int,
    measure: str,
    whole: bool,
) -> None:
    """PersFL's Table 7 is of Table 3's runs, PPFL's Table 3 and Figure 5 of Table 1's."""
    rows = [row for row in preset(name, "full").rows if "cifar10" not in row.name]
    kept, here = read(COMMITTED), {"engine.name": "inprocess"}
    for row in rows:
        one = known(row, seeds, tmp_path, here, elsewhere=kept)
        assert one.taken == tuple(range(seeds)), row.name
        assert len(one.numbers[measure]) == (seeds if whole else 0)
        assert len(one.numbers.get("accuracy", range(seeds))) == seeds
    # what is asked for is run where a number is lacking, and taken where none is
    made: list[str] = []
    monkeypatch.setitem(
        running.RUNNERS, "experiment", lambda row, *_: made.append(row.name) or joined(row, [])
    )
    list(outcomes(rows[:1], seeds, tmp_path, here, 1.0, kept))
    assert made == ([] if whole else [rows[0].name])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Presets that are about the same runs share them."""
    return tmp_path_factory.mktemp("runs")


def test_another_default_of_a_method_is_another_setting() -> None:
    asked = {"method.name": "ditto"}
    assert digest(asked, {"lam": 0.1}) == digest(asked, {"lam": 0.1})
    assert digest(asked, {"lam": 0.1}) != digest(asked, {"lam": 0.2})


@pytest.mark.parametrize("apart", [False, True])
def test_two_numbers_of_one_run_are_refused_and_the_same_twice_is_not(
    tmp_path: Path, apart: bool
) -> None:
    head = ",".join(KEPT) + "\n"
    one, other = (f"N2,0,accuracy,{value},1.0,digest,print,0.1.0\n" for value in (0.5, 0.9))
    (tmp_path / "a.csv").write_text(head + one + ("" if apart else one))
    (tmp_path / "b.csv").write_text(head + one)
    assert [run.numbers for run in read(tmp_path).values()] == [{"accuracy": 0.5}]
    (tmp_path / "b.csv").write_text(head + (other if apart else one + other))
    with pytest.raises(
        FedkinError, match=r"b\.csv.* accuracy of N2, seed 0, is 0\.9, and .* 0\.5:"
    ):
        read(tmp_path)


COMMITTED = Path(__file__).parents[2] / "docs" / "reproduction"
TABLES = sorted(path.stem for path in COMMITTED.glob("*.csv") if path.name != CLAIMS)


@pytest.mark.parametrize("name", TABLES)
def test_committed_rows_go_on_counting_whatever_has_become_a_default(name: str) -> None:
    """Their settings are digests: a new key, or another default, must not change them."""
    rows = {row.name: row for scale in ("small", "full") for row in preset(name, scale).rows}
    found = [one for one in read(COMMITTED).values() if one.row in rows]
    text = (COMMITTED / f"{name}.csv").read_text(encoding="utf-8")
    assert len(found) == len({tuple(line.split(",")[:2]) for line in text.splitlines()[1:]})
    inprocess = {"engine.name": "inprocess"}
    for one in found:
        now = digest_of(spec_of(rows[one.row], one.seed, inprocess))
        assert now == one.settings, one.row
