"""What clients of a safe run deploy, in words; on the page and in the terminal."""

import math
import re
from pathlib import Path

import pytest

from fedkin.experiment.run import run
from fedkin.report.page.content import page
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from fedkin.report.words.deployed import (
    CHANCE,
    SHARE,
    by_client,
    choice_in_words,
    of_notes,
    shares_of,
    summed_up,
)
from fedkin.transforms import safe
from tests.engine.small import small

FOUND = {
    "extras": {
        "safe_share": {"a": 1, "b": 0, "c": 0.25, "d": 1},
        "safe_chance": {"a": 0.03125, "b": 0.5, "c": 0.1},
    }
}


def test_how_many_deploy_what() -> None:
    (said,) = summed_up(FOUND)
    assert said.startswith("safe: of 4 clients 2 deploy the federated model, 1 a mixture, 1 their")
    assert said.endswith("own, whose validation does not say that a federated one is better")
    assert summed_up({"extras": {}}) == []
    (said,) = summed_up({"extras": {"safe_share": {"a": 1, "b": 1}}})
    assert said == "safe: of 2 clients 2 deploy the federated model, 0 a mixture, 0 their own"


def test_each_one_with_its_reason() -> None:
    luck = "chance of such a gain in validation if it were no better"
    assert by_client(FOUND) == {
        "a": f"the federated model: 3.12 % {luck}",
        "b": "its own model: validation does not say that a federated one is better "
        f"(50.00 % {luck}, at the least)",
        "c": f"a mixture of 25 % of the federated model and 75 % of its own: 10.00 % {luck}",
        "d": "the federated model",
    }
    assert by_client({"extras": {}}) == {}


@pytest.mark.parametrize("told", [None, "all", [1.0], {"0": 1.0}, math.nan, 10**400])
def test_what_a_node_tells_in_place_of_a_number_breaks_no_report(told: object) -> None:
    known = {"a": 1.0, "b": told}
    found = {"extras": {SHARE: known, CHANCE: {"a": told}}}
    assert shares_of(found) == {"a": 1.0}
    assert by_client(found) == {"a": "the federated model"}
    assert summed_up(found)[0].startswith("safe: of 1 client 1 deploy")
    assert of_notes({SHARE: told, CHANCE: told}) is None


@pytest.mark.parametrize(("method", "safe"), [("fedavg", True), ("fedavg", False)])
def test_the_page_lists_what_each_client_deploys(method: str, safe: bool, tmp_path: Path) -> None:
    asked = small(method)
    section = asked.method.model_copy(update={"safe": safe})
    folder = run(asked.model_copy(update={"method": section}), out=tmp_path / "run")
    with opened(folder) as record:
        found, text = of_run(record), page(record)
    plain = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert ("Safe: of" in plain) == safe
    if safe:
        for name, share in found["extras"]["safe_share"].items():
            chance = found["extras"]["safe_chance"][name]
            assert f"{name} " in plain
            assert choice_in_words(share, chance) in plain


def test_the_notes_have_the_names_that_the_transform_gives_them() -> None:
    """The page is made without torch, and cannot ask it."""
    assert (SHARE, CHANCE) == (safe.SHARE, safe.CHANCE)
