"""Whose files may name code."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec, parse
from fedkin.runs.trust import MOST, digest, remember, require

SPEC, _ = parse({"model": {"name": "a.b:C"}}, where="x")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_what_was_allowed_once_is_allowed_there_and_nowhere_else(tmp_path: Path) -> None:
    here, there = tmp_path / "a" / "x.toml", tmp_path / "b" / "x.toml"
    with pytest.raises(FedkinError, match=r"names code \(a\.b:C\).*--trust-code"):
        require(here, SPEC, ["a.b:C"], trust_code=False)
    require(here, SPEC, ["a.b:C"], trust_code=True)
    require(here, SPEC, ["a.b:C"], trust_code=False)
    with pytest.raises(FedkinError):
        require(there, SPEC, ["a.b:C"], trust_code=False)
    require(there, SPEC, [], trust_code=False)


def test_other_code_and_other_arguments_are_asked_about_again(tmp_path: Path) -> None:
    remember(tmp_path, SPEC)
    for model in ({"name": "a.b:D"}, {"name": "a.b:C", "width": 3}):
        other, _ = parse({"model": model}, where="x")
        assert digest(other) != digest(SPEC)
        with pytest.raises(FedkinError):
            require(tmp_path / "x.toml", other, ["a.b:D"], trust_code=False)
    faster, _ = parse({"model": {"name": "a.b:C"}, "train": {"lr": 0.7}}, where="x")
    require(tmp_path / "x.toml", faster, ["a.b:C"], trust_code=False)


def test_a_method_of_ones_own_is_asked_about_with_its_arguments(tmp_path: Path) -> None:
    def named(method: dict[str, Any]) -> Spec:
        return parse({"model": {"name": "a.b:C"}, "method": method}, where="x")[0]

    assert digest(named({"name": "ditto", "lam": 2.0})) == digest(SPEC)  # remembered before
    mine = named({"name": "a.b:m", "share": 0.5})
    remember(tmp_path, mine)
    require(tmp_path / "x.toml", mine, ["a.b:m"], trust_code=False)
    for other in ({"name": "a.b:n", "share": 0.5}, {"name": "a.b:m", "share": 0.6}):
        with pytest.raises(FedkinError, match="names code"):
            require(tmp_path / "x.toml", named(other), ["a.b:m"], trust_code=False)


def test_the_oldest_folders_are_forgotten(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("fedkin.runs.trust.MOST", 2)
    assert MOST > 2
    for name in ("one", "two", "three"):
        remember(tmp_path / name, SPEC)
    with pytest.raises(FedkinError):
        require(tmp_path / "one" / "x.toml", SPEC, ["a.b:C"], trust_code=False)
    require(tmp_path / "two" / "x.toml", SPEC, ["a.b:C"], trust_code=False)


def test_a_damaged_file_allows_nothing(tmp_path: Path) -> None:
    remember(tmp_path, SPEC)
    (kept,) = (tmp_path / "state").rglob("trusted.json")
    for content in ("[]", "{", '{"x": 3}'):
        kept.write_text(content)
        with pytest.raises(FedkinError):
            require(tmp_path / "x.toml", SPEC, ["a.b:C"], trust_code=False)


def test_a_long_list_is_read_to_its_end(tmp_path: Path) -> None:
    remember(tmp_path / "one", SPEC)
    (file,) = (tmp_path / "state").rglob("trusted.json")
    others = {f"/{'folder/' * 80}{n}": [digest(SPEC)] * 10 for n in range(MOST - 1)}
    file.write_text(json.dumps({**others, **json.loads(file.read_text())}))
    require(tmp_path / "one" / "x.toml", SPEC, ["a.b:C"], trust_code=False)
