"""docs/keys.md: every section and key of an experiment file, as the program has them today."""

import inspect

import pytest
from pydantic import BaseModel

from fedkin.runs.spec import Spec
from fedkin.transforms.registry import TRANSFORMS
from website import spec_page
from website.spec_keys import every_key
from website.staging import ROOT

PAGE = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    assert spec_page.text() == PAGE, "python -m website.spec_page writes it"


@pytest.mark.parametrize("section", Spec.model_fields)
def test_a_section_has_its_keys(section: str) -> None:
    heading = "## [[transforms]]\n" if section == "transforms" else f"## [{section}]\n"
    part = PAGE.split(heading)[1].split("\n## ")[0]
    kind = Spec.model_fields[section].annotation
    keys = (
        kind.model_fields if inspect.isclass(kind) and issubclass(kind, BaseModel) else TRANSFORMS
    )
    assert [key for key in keys if f"\n| `{key}` | " not in part] == []


def test_pages_that_explain_a_section_are_of_one_that_exists() -> None:
    assert set(spec_page.MORE) < set(Spec.model_fields)


def test_a_key_of_two_forms_says_both() -> None:
    takes = {key.path: key.type for key in every_key()}
    assert takes["privacy.noise"] == takes["privacy.clip"] == "number or table"
    assert takes["privacy.secure_aggregation"] == "yes/no or table"
