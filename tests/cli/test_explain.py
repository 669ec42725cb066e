"""``fedkin explain``: what the code at the end of an error message means."""

import json

from fedkin.core.codes.families import families
from tests.cli.command import fedkin, told

CODE = sorted(families())[3]


def test_a_code_is_explained_however_it_is_copied() -> None:
    one = families()[CODE]
    for given in (CODE, CODE.lower(), f"[{CODE}]", CODE.removeprefix("FED-")):
        text = fedkin("explain", given).stdout
        assert text.startswith(f"{CODE}: {one.title}\n\n{one.means}")
        assert f"  error: {one.example} [{CODE}]" in text
        assert text.rstrip().endswith(one.do[-1])


def test_without_a_code_all_are_listed() -> None:
    lines = fedkin("explain").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(families())
    assert f"{CODE}  {families()[CODE].title}" in lines


def test_as_json() -> None:
    every = json.loads(fedkin("explain", "--json").stdout)
    (one,) = [each for each in every if each["code"] == CODE]
    assert json.loads(fedkin("explain", CODE, "--json").stdout) == one
    assert set(one) == {"code", "title", "means", "example", "do"}


def test_an_unknown_code_names_the_nearest() -> None:
    wrong = f"{CODE[:-1]}X"
    assert f"unknown error code '{wrong}'" in told("explain", wrong)
