"""Every command ends with the one to type next."""

import shlex
from pathlib import Path

import pytest

from fedkin.certificates.transforms import CERTIFIED
from fedkin.cli.talk.next_command import AROUND, NEXT
from tests.awkward import record
from tests.cli.command import fedkin
from tests.report.records_for_tests import write
from website.commands import paths

GROUPS = {"bench", "deploy"}
ALREADY = {  # commands that say it themselves, or that go on until they are stopped
    *("run", "resume", "init", "join", "data check", "watch"),
    *(
        f"deploy {name}"
        for name in ("superlink", "node", "check", "run", "init", "add", "renew", "join", "status")
    ),
}


def test_every_command_has_its_next_one() -> None:
    typed = {name.removeprefix("fedkin ") for name in paths()} - {"fedkin"} - GROUPS
    assert typed == set(NEXT) | ALREADY
    assert set(NEXT) & ALREADY == set()


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("words", "following"),
    [
        (["show", "RUN"], "report RUN"),
        (["report", "RUN"], "export RUN --all"),
        (["compare", "RUN"], "compare RUN --html page.html"),
        (["compare", "RUN", "--html", "PAGE"], "report RUN"),
        (["methods"], "methods NAME --certificate, or: fedkin run --method NAME"),
        (["methods", "ditto"], "methods ditto --certificate, or: fedkin run --method ditto"),
        (
            ["methods", "tests.parity.halved:halved"],
            "methods tests.parity.halved:halved --check, or: fedkin run --method "
            "tests.parity.halved:halved",
        ),
        (["methods", "median", "--certificate"], "run --transform median"),
        (["data"], "init PATH, or: fedkin data check PATH"),
        (["explain", "FED-301"], "explain"),
        (["bench", "list"], "bench run small --out bench"),
        (["reproduce", "--list"], "reproduce NAME"),
    ],
)
def test_it_is_said_on_standard_error(words: list[str], following: str, tmp_path: Path) -> None:
    run = record(tmp_path / "run")
    real = {"RUN": str(run), "PAGE": str(tmp_path / "page.html")}
    done = fedkin(*(real.get(word, word) for word in words))
    assert done.exit_code == 0, done.output
    said = f"next: fedkin {following}".replace("RUN", str(run))
    assert done.stderr.splitlines()[-1] == said
    assert "next: " not in done.stdout
    assert "next: " not in fedkin(*(real.get(word, word) for word in words), "--quiet").stderr


def test_paths_with_spaces_and_what_was_asked_are_in_it(tmp_path: Path) -> None:
    one, two = record(tmp_path / "a b"), record(tmp_path / "x y")
    page = tmp_path / "page.html"
    last = fedkin("compare", one, two, "--html", page).stderr.splitlines()[-1]
    assert last == f"next: fedkin report {shlex.quote(str(two))}"
    assert fedkin("compare", one, page, "--html", page).stderr.splitlines()[-1].endswith("a b'")
    asked = ["--against", "a b", "--best", "--measure", "accuracy"]
    last = fedkin("compare", one, two, *asked).stderr.splitlines()[-1]
    typed = ["compare", str(one), str(two), *asked, "--html", "page.html"]
    assert last == f"next: fedkin {shlex.join(typed)}"
    runs = [tmp_path / "all runs" / name for name in "abc"]
    for run in runs:
        run.mkdir(parents=True)
    short = f"compare {shlex.quote(str(runs[0].parent))}/* --html page.html"
    assert NEXT["compare"]({"folders": runs}) == short
    whole = f"compare {shlex.join(map(str, [*runs[1:], runs[0]]))} --html page.html"
    assert NEXT["compare"]({"folders": [*runs[1:], runs[0]]}) == whole  # the first is the baseline
    (runs[0].parent / "d").mkdir()
    assert "/*" not in NEXT["compare"]({"folders": runs})
    study = runs[0].parent / "study.db"  # which ``sweep/*`` names, too
    study.touch()
    every = [*runs, runs[0].parent / "d", study]
    assert NEXT["compare"]({"folders": every}) == short
    found = NEXT["sweep"]({"out": Path("my sweep"), "measure": "auc"})
    assert found == "compare 'my sweep'/* --best --measure auc"
    found = NEXT["reproduce"]({"name": "comet-figure-2", "scale": "small", "out": Path("a b")})
    assert found == "reproduce comet-figure-2 --scale small --finished --out 'a b'"
    asked = {
        "scale": "full",
        "rows": "a b",
        "seeds": 3,
        "set_": ["run.rounds=2"],
        "from_": Path("w"),
    }
    found = NEXT["reproduce"]({"name": "claims", "paper": "comet", "data_dir": Path("d"), **asked})
    assert found == (
        "reproduce claims comet --scale full --rows 'a b' --seeds 3 --set run.rounds=2 --finished "
        "--from w --out NAME --data-dir d"
    ).replace(" --out NAME", "")


@pytest.mark.parametrize("looked", ["finished", "dry_run"])
@pytest.mark.parametrize("name", ["claims", "comet-figure-2"])
def test_what_was_only_looked_at_is_run_next(name: str, looked: str) -> None:
    asked = {"name": name, "scale": "full", "rows": "ditto", "out": Path("a b")}
    run = f"reproduce {name} --scale full --rows ditto --out 'a b'"
    assert NEXT["reproduce"]({**asked, looked: True}) == run
    shown = f"reproduce {name} --scale full --rows ditto --finished --out 'a b'"
    assert NEXT["reproduce"]({**asked, "finished": False, "dry_run": False}) == shown


def test_what_a_doctor_looked_at_is_run_as_it_was_asked() -> None:
    asked = {"spec": Path("a b.toml"), "method": "ditto", "set_": ["train.lr=0.1", "x=y z"]}
    assert NEXT["doctor"](asked) == (
        "run 'a b.toml' --method ditto --set train.lr=0.1 --set 'x=y z'"
    )
    assert NEXT["doctor"]({"clients": 4, "trust_code": True}) == (
        "run --data digits --clients 4 --method local --trust-code"
    )
    named = {"data": "a.csv", "set_": ["method.name=ditto"]}
    assert NEXT["doctor"](named) == "run --data a.csv --set method.name=ditto"


def test_a_leaderboard_in_another_folder_stays_the_one_that_is_meant() -> None:
    one, other = Path("my rows/rows.jsonl"), Path("b.jsonl")
    assert NEXT["bench page"]({"rows": None}) == "bench verify ROW"
    assert NEXT["bench page"]({"rows": [one]}) == "bench verify ROW --rows 'my rows/rows.jsonl'"
    assert NEXT["bench page"]({"rows": [one, other]}) == "bench verify ROW --rows FILE"
    assert NEXT["bench run"]({"out": Path("my rows"), "suite": "small"}) == "bench page 'my rows'"
    assert NEXT["bench verify"]({"rows": None}) == "bench page"
    assert NEXT["bench verify"]({"rows": one}) == "bench page 'my rows/rows.jsonl'"


def test_a_method_that_was_added_stands_beside_the_rows_that_fedkin_has_of_its_suite() -> None:
    assert NEXT["bench add"]({"out": Path("mine"), "suite": "small"}) == "bench page mine small"
    assert NEXT["bench add"]({"out": Path("mine"), "suite": "full"}) == "bench page mine"
    assert NEXT["bench add"]({"out": Path("mine"), "suite": "small.toml"}) == "bench page mine"


def test_what_stands_around_a_method_has_a_command() -> None:
    assert set(AROUND) == set(CERTIFIED)


@pytest.mark.rotating
@pytest.mark.parametrize("name", CERTIFIED)
def test_the_command_of_what_stands_around_a_method_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = (
        "--clients",
        "8",
        "--rounds",
        "1",
        "--set",
        "train.steps=1",
        "--set",
        "engine.name=inprocess",
    )
    said = fedkin("methods", name, "--certificate").stderr.splitlines()[-1]
    words = shlex.split(said.removeprefix("next: fedkin "))
    done = fedkin(*words, "--data", "digits", *short, "--out", "run")
    assert done.exit_code == 0, (said, done.output)


def test_programs_and_mistakes_get_none(tmp_path: Path) -> None:
    run = record(tmp_path / "run")
    assert fedkin("show", run, "--json").stderr == ""
    assert "next: " not in fedkin("show", tmp_path / "nosuch").stderr
    assert fedkin("data", "check", tmp_path / "nosuch.csv").stderr.count("next: ") == 0


def test_a_report_of_a_method_value_names_no_export(tmp_path: Path) -> None:
    value = {"method": {"code": "aa", "settings": {}}}
    for name, facts, verb in (("named", {}, "export"), ("value", {"values": value}, "show")):
        folder = write(tmp_path / name, **facts)
        assert NEXT["report"]({"folder": folder}).startswith(f"{verb} ")


def report_of(folder: Path, **facts: object) -> str:
    return NEXT["report"]({"folder": write(folder, **facts)}).replace(str(folder), "RUN")


def test_a_report_of_a_deployment_names_the_model_that_is_here(tmp_path: Path) -> None:
    """Personal models are at the nodes: no client of such a run can be exported."""
    for name, known, following in (
        ("shared", {"shared_model": True}, "export RUN --view global"),
        ("not", {"shared_model": False}, "show RUN --json"),
        ("older", {}, "show RUN --json"),  # whose record does not say it
    ):
        assert report_of(tmp_path / name, deployment="d1", **known) == following


def test_a_model_that_was_named_is_named_again() -> None:
    one: dict[str, object] = {"folder": Path("a b"), "client": "0", "view": "personal"}
    assert NEXT["export"](one) == "predict 'a b' --client 0 --data FILE"
    assert NEXT["predict"](one) == "export 'a b' --client 0 --format pt2"
    assert NEXT["export"](one | {"view": "global"}) == (
        "predict 'a b' --client 0 --view global --data FILE"
    )
    shared = one | {"view": "global", "client": None}
    assert NEXT["export"](shared) == "predict 'a b' --view global --data FILE"
    assert NEXT["predict"](shared) == "export 'a b' --view global --format pt2"
    assert NEXT["export"](shared | {"everyone": True}) == (
        "predict 'a b' --client NAME --view global --data FILE"
    )
