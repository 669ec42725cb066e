"""What tells experiments of one method apart."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.labels import labels, paper_names
from fedkin.report.comparison.rank_table import rank_table
from fedkin.report.comparison.run_row import by_experiment, read_run
from fedkin.runs.privacy import PrivacySection
from tests.report.records_for_tests import FACTS, write

SPEC = FACTS["spec"]
PRIVATE = PrivacySection(noise=2.14767, clip=1.0, delta=1e-3).model_dump()
MASKED = PrivacySection(secure_aggregation={"threshold": None}).model_dump()  # type: ignore[arg-type]
AROUND = [{"name": "median"}, {"name": "attack", "kind": "sign_flip", "seed": None}]


def labelled(folder: Path, *facts: dict[str, Any]) -> list[str]:
    runs = [write(folder / f"run{k}", **{"rounds": 2, **one}) for k, one in enumerate(facts)]
    return labels(by_experiment([read_run(run, run.name) for run in runs]))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"model": "cnn"}, ["model = dnn", "model = cnn"]),
        ({"rounds": 3}, ["rounds = 2", "rounds = 3"]),
        ({"model": "cnn", "rounds": 3}, ["model = dnn, rounds = 2", "model = cnn, rounds = 3"]),
        ({"participation": 0.5}, ["participation = 1", "participation = 0.5"]),
        ({"spec": {**SPEC, "run": {"patience": 3}}}, ["no patience", "patience = 3"]),
        (
            {"spec": {**SPEC, "privacy": PRIVATE}},
            ["no privacy", "privacy.noise = 2.148, privacy.clip = 1, privacy.delta = 0.001"],
        ),
        (
            {"spec": {**SPEC, "privacy": MASKED}},
            ["no privacy", "privacy.secure_aggregation = true"],
        ),
        (
            {"spec": {**SPEC, "transforms": AROUND}},
            ["no transforms", "transforms = median, attack (kind = sign_flip)"],
        ),
        ({"versions": {"fedkin": "0.2.0"}}, ["versions.fedkin = 0.1.0", "versions.fedkin = 0.2.0"]),
        ({"spec": {**SPEC, "new": {"key": None}}}, ["run run0", "run run1"]),
    ],
)
def test_experiments_of_equal_hyper_parameters_have_labels_of_their_own(
    tmp_path: Path, other: dict[str, Any], said: list[str]
) -> None:
    whole = {"spec": {**SPEC, "run": {"patience": None}}}
    assert labelled(tmp_path, whole, other) == said


def test_other_keys_stand_beside_equal_hyper_parameters_alone(tmp_path: Path) -> None:
    small, large = {"hyper": {"lam": 1.0}}, {"hyper": {"lam": 2.0}}
    found = labelled(tmp_path, small, {**small, "model": "cnn"}, {**large, "model": "mlr"})
    assert found == ["lam = 1.0, model = dnn", "lam = 1.0, model = cnn", "lam = 2.0"]
    assert labelled(tmp_path / "one", small, {**small, "method": "local"}) == ["", ""]


def test_a_run_that_is_not_safe_says_so_beside_one_that_is(tmp_path: Path) -> None:
    plain, safe = {"hyper": {"lam": 1.0}}, {"hyper": {"lam": 1.0, "safe": True}}
    assert labelled(tmp_path, plain, safe) == ["safe = false", "safe = true"]


def test_of_many_keys_a_few_are_named(tmp_path: Path) -> None:
    one, two = ({**SPEC, "server": dict.fromkeys("abcdef", value)} for value in (1, 2))
    found = labelled(tmp_path, {"spec": one}, {"spec": two})
    assert found[1] == "server.a = 2, server.b = 2, server.c = 2, server.d = 2 and 2 more"


def test_the_tables_of_a_comparison_show_them(tmp_path: Path) -> None:
    runs = [write(tmp_path / "wide"), write(tmp_path / "narrow", model="cnn")]
    found = comparison(runs)
    assert found.baseline == "comet model = dnn"
    assert found.against["setting"].tolist() == ["model = cnn"]
    assert sorted(row[2] for row in rank_table(found).rows) == ["model = cnn", "model = dnn"]


def test_a_paper_names_methods_and_not_folders(tmp_path) -> None:
    """A setting and a seed stand there where there are several, a folder where nothing else
    tells."""
    facts: dict[str, dict[str, Any]] = {
        "0003-lr=0.2": {},
        "0004-lr=0.2": {"seed": 8},
        "a": {"method": "local"},
        "again": {"method": "local"},
        "half": {"method": "local", "finished": False},
        "lam": {"hyper": {"lam": 9.0}},
    }
    runs = [write(tmp_path / name, **one) for name, one in facts.items()]
    names = paper_names([read_run(run, run.name) for run in runs])
    assert list(names.values())[2:5] == ["local", "local, run again", "local, run half"]
    first, second = names["0003-lr=0.2"], names["0004-lr=0.2"]
    assert first.startswith("comet, ")
    assert first.endswith(", seed 7")
    assert second == first.replace("seed 7", "seed 8")
    assert names["lam"].startswith("comet, ")
    assert "seed" not in names["lam"]
    assert len(set(names.values())) == len(names)
