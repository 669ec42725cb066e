"""Words for those whose data they are."""

import pytest

from fedkin.data.tables.client_names import names_people


@pytest.mark.parametrize(
    ("name", "people"),
    [
        ("Hospital", True),
        ("hospital_id", True),
        ("userId", True),
        ("Site No.", True),
        ("clients", True),
        ("site temperature", False),
        ("identity", False),
        ("hospitality", False),
        ("", False),
    ],
)
def test_whole_names_are_those_of_clients(name: str, people: bool) -> None:
    assert names_people(name) is people
