"""The card of a shared model as people read it."""

from fedkin.export.card_page import as_markdown
from fedkin.export.shared_card import AS_THEY_ARE
from tests.export.test_card_page import CARD


def test_it_is_nobodys_and_names_the_columns_of_the_nodes() -> None:
    given = {"dtype": "float32", "shape": ["samples", 2], "names": ["age", "bmi"]}
    own = {"client": None, "clients": ["north", "s<1>"], "joined": None}
    page = as_markdown(
        {**CARD, **own, "view": "global", "input": {**given, "encoded": AS_THEY_ARE}}
    )
    assert page.startswith("# Shared model of 2 clients: north, s&lt;1>\n")
    assert "; all clients' samples: 31 for training" in page
    assert "- global model on test, mean over clients: loss 1.2500" in page
    assert f"{AS_THEY_ARE}: age, bmi." in page
