"""What is asked of a bench is checked before anything is run; what is left out is told."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.bench import case as cases
from fedkin.bench import running
from fedkin.bench.request import cases_of
from fedkin.bench.running import bench
from fedkin.core.errors import FedkinError
from tests.bench.tiny import quiet, tiny, tiny_request


def test_values_that_come_to_no_trial_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_run_cases", lambda *arguments: None)
    own = ({"lam": 0.1}, {"lam": 0.2}, {"lam": 0.3})
    said: list[str] = []
    bench(tiny_request(tmp_path, methods=("ditto",), typed_trials=own), said.append)
    assert said == ["ditto: lam=0.3 is not tried, for the suite has 2 trials a method"]


def test_values_are_tried_however_the_method_was_typed() -> None:
    own = ({"lam": 0.1}, {"lam": 0.2})
    asked = tiny_request(Path("out"), methods=("Ditto",), typed_trials=own)
    (case,) = [case for case in cases_of(asked, quiet) if case.method == "ditto"]
    assert case.own == own


def test_a_suite_says_what_a_method_tries(tmp_path: Path) -> None:
    own = [{"lam": 0.1}, {"lam": 0.2}, {"lam": 0.3}]
    searches = {"Ditto": {"own": own, "fixed": {"weights": "uniform"}}}
    suite, said = tiny(searches=searches), []
    by_method = {
        case.method: case for case in cases_of(tiny_request(tmp_path, suite=suite), said.append)
    }
    assert (by_method["ditto"].own, by_method["ditto"].fixed) == (
        tuple(own),
        {"weights": "uniform"},
    )
    assert said == ["ditto: lam=0.3 is not tried, for the suite has 2 trials a method"]
    plain = {case.method: case for case in cases_of(tiny_request(tmp_path), quiet)}
    assert by_method["local"].digest == plain["local"].digest  # its rows stay good
    assert by_method["ditto"].digest != plain["ditto"].digest
    typed = tiny_request(tmp_path, suite=suite, methods=("ditto",), typed_trials=({"lam": 9.0},))
    assert [case.own for case in cases_of(typed, quiet) if case.method == "ditto"] == [
        ({"lam": 9.0},)
    ]


@pytest.mark.parametrize("where", ["own", "fixed"])
def test_a_value_of_a_suite_is_refused_before_anything_is_run(where: str, tmp_path: Path) -> None:
    wrong = {"lam": "much"}
    search = {"own": [wrong]} if where == "own" else {"fixed": wrong}
    asked = tiny_request(tmp_path / "out", suite=tiny(searches={"ditto": search}))
    with pytest.raises(FedkinError, match=r"method\.lam"):
        bench(asked, quiet)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"methods": ("dito",)}, "did you mean 'ditto'"),
        ({"settings": ("digit",)}, "unknown setting 'digit': did you mean 'digits'"),
        ({"methods": ("nowhere:method",)}, "cannot be imported: ModuleNotFoundError"),
        ({"methods": ("os:sep",)}, "is no function that makes a method"),
        ({"methods": (f"os:{'m' * 198}",)}, "a name of 201 letters: a row .* holds 200"),
        ({"typed_trials": ({"lam": "1" * 10**5},)}, "a trial of 100,011 letters: .* 100,000"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_run(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(FedkinError, match=said):
        bench(tiny_request(tmp_path / "out", **change), quiet)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"lan": 0.1}, "unknown ditto hyper-parameter 'lan': did you mean 'lam'"),
        ({"lam": "much"}, "method.lam"),
    ],
)
def test_a_value_that_the_method_has_not_is_refused_before_anything_is_run(
    typed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    own = ({"lam": 0.2}, typed)
    with pytest.raises(FedkinError, match=said):
        bench(tiny_request(tmp_path / "out", methods=("ditto",), typed_trials=own), quiet)
    assert not (tmp_path / "out").exists()


def test_a_setting_without_its_data_is_left_out(tmp_path: Path) -> None:
    settings = {
        "digits": tiny().settings["digits"].model_dump(),
        "gone": {"title": "Gone", "spec": {"data": {"name": "femnist", "dir": str(tmp_path)}}},
    }
    said: list[str] = []
    found = bench(
        tiny_request(tmp_path / "out", suite=tiny(settings=settings, methods=["local"])),
        said.append,
    )
    assert {row.setting for row in found} == {"digits"}
    assert any(text.startswith("gone is left out") for text in said)
    only = tiny(settings={"gone": settings["gone"]}, methods=["local"])
    with pytest.raises(FedkinError, match="no setting can be run: gone is left out"):
        bench(tiny_request(tmp_path / "none", suite=only), quiet)


def test_a_setting_that_names_no_data_has_those_of_an_experiment_that_names_none(
    tmp_path: Path,
) -> None:
    spec = {key: value for key, value in tiny().settings["digits"].spec.items() if key != "data"}
    suite = tiny(settings={"plain": {"title": "Plain", "spec": spec}}, methods=["local"])
    rows = bench(tiny_request(tmp_path, suite=suite), quiet)
    assert {row.data for row in rows} == {"digits"}
    assert all(row.mean is not None for row in rows)


def test_a_setting_without_validation_samples_is_left_out_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny().settings["digits"].spec
    none = {**spec, "split": {**spec["split"], "val": 0.0}}
    suite = tiny(settings={"blind": {"title": "Blind", "spec": none}}, methods=["local"])
    monkeypatch.setattr(cases, "run_trial", None)
    with pytest.raises(FedkinError, match="blind is left out: clients have no validation samples"):
        bench(tiny_request(tmp_path, suite=suite), quiet)
