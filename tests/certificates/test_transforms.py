"""Every transform has a whole and current certificate, of all that it is made of."""

import pytest

from fedkin.certificates.registry import held, packaged
from fedkin.certificates.transforms import CERTIFIED, digest, lacking, sources_of
from fedkin.transforms.registry import TRANSFORMS
from tests.certify import of_transforms

RENEW = "run scripts/certify"


def test_all_transforms_noise_and_masks_are_certified() -> None:
    beside = {"client_noise", "prediction_noise", "votes", "sample_noise", "masks"}
    assert set(CERTIFIED) == set(TRANSFORMS) | beside
    assert set(packaged()["transforms"]) == set(CERTIFIED), RENEW


@pytest.mark.parametrize("name", CERTIFIED)
def test_every_transform_has_a_whole_and_current_certificate(name: str) -> None:
    found = packaged()["transforms"].get(name)
    assert found is not None, RENEW
    assert lacking(found) == [], RENEW
    assert found["sha256"] == digest(name), f"{name} has changed: {RENEW} {name}"
    assert held(name)[0].state == "current"


def test_sources_are_those_of_what_it_is_made_of() -> None:
    assert "fedkin.transforms.robust" in sources_of("median")
    assert "fedkin.transforms.compression.compressors" in sources_of("top_k")
    assert {"fedkin.masks.vectors", "fedkin.masks.shares"} < set(sources_of("masks"))
    assert "fedkin.core.protected.noise" in sources_of("sample_noise")
    assert digest("median") != digest("top_k")


def test_a_law_and_a_closed_form_or_a_reference_are_a_whole() -> None:
    some, none = {"tests": [{"id": "t", "title": "t", "cases": 1}]}, {"tests": []}
    assert lacking({"law": some, "closed form": some, "reference": none}) == []
    assert lacking({"law": some, "closed form": none, "reference": some}) == []
    assert lacking({"law": some, "closed form": none, "reference": none}) == ["closed form"]
    assert lacking({"law": none, "closed form": some, "reference": some}) == ["law"]


def test_their_table_counts_cases() -> None:
    few, none = [{"cases": 1}, {"cases": 3}], {"tests": []}
    one = {"reference": none, "closed form": {"tests": few}, "law": {"tests": few[:1]}}
    lines = of_transforms({"a": one}).split("\n")
    assert lines[0].startswith("| transform | agreement with the separate reference |")
    assert lines[-1] == "| `a` | – | 4 | 1 |"
