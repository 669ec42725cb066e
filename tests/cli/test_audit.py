"""``fedkin audit``: what it prints of what it found."""

import json
import os

import pytest

from fedkin.audit.page import tables
from tests.audit.test_page import FOUND
from tests.cli.command import fedkin, told


@pytest.fixture
def found(monkeypatch):
    made = dict(FOUND)
    asked = []

    def attack(folder, trust_code):
        asked.append((folder, trust_code))
        return made

    monkeypatch.setattr("fedkin.audit.audit.audit", attack)
    return made, asked


def test_tables_and_where_the_page_is(found, tmp_path) -> None:
    result = fedkin("audit", tmp_path, "--trust-code")
    assert found[1] == [(tmp_path, True)]
    lines = result.stdout.splitlines()
    assert lines[-1].endswith("audit.html")
    assert any("loss" in line and "0.612" in line and "80 and 35" in line for line in lines)
    assert any("21 of 30" in line for line in lines)
    assert "no canaries" not in result.stdout
    said = " ".join(result.stdout.split())
    for shown in tables(FOUND):  # the columns' short names mean nothing without it
        assert shown.note in said
    assert "none where the server itself adds the noise" in said
    assert (tmp_path / "audit.html").is_file()


def test_without_canaries_it_says_how_to_have_some(found, tmp_path) -> None:
    found[0]["canaries"] = None
    assert "train with --set audit.canaries=100" in fedkin("audit", tmp_path).stdout


def test_as_json(found, tmp_path) -> None:
    printed = json.loads(fedkin("audit", tmp_path, "--json").stdout)
    assert printed.pop("written") == [str(tmp_path / "audit.html")]
    assert printed == FOUND


def test_a_run_that_takes_no_page_is_told_before_the_attacks(found, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda _, way: not way & os.W_OK)  # root may
    said = told("audit", tmp_path)
    assert said.startswith(f"{tmp_path} is read-only or another user's")
    assert found[1] == []
