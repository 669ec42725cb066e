"""audit.html, and the same tables for a terminal."""

from typing import Any

import pytest

from fedkin.audit.page import LIMIT, tables, write_page

FOUND: dict[str, Any] = {
    "method": "ditto <b>",
    "rounds": 7,
    "clients": 3,
    "of": 11,
    "false_alarms": 0.01,
    "confidence": 0.95,
    "membership": [
        {
            "target": "personal",
            "attack": "loss",
            "auc": 0.61234,
            "hits": 0.0456,
            "members": 1_080,
            "others": 35,
        }
    ],
    "labels": {"correlation": 0.347, "clients": 3},
    "properties": {
        "kind": "predictions",
        "has": 0.8768,
        "most": 2 / 3,
        "chance": 0.5,
        "alike": None,
        "clients": 3,
    },
    "kinds": [
        {"kind": "parameters", "seen": "a sum", "lower": 0.204, "upper": 8.256, "delta": 1e-5},
        {"kind": "notes", "seen": "nothing", "lower": None, "upper": None, "delta": 1e-5},
    ],
    "inversion": {"closest": 0.987, "rebuilt": 0.25, "chance": 0.013, "auc": 0.72, "clients": 2},
    "canaries": [
        {
            "target": "personal",
            "canaries": 60,
            "right": 21,
            "guesses": 30,
            "lower": 0.204,
            "upper": None,
            "delta": 1.234e-5,
        },
        {
            "target": "global",
            "canaries": 60,
            "right": 16,
            "guesses": 30,
            "lower": 0.0,
            "upper": 8.256,
            "delta": 1e-5,
        },
    ],
}


def test_every_number_stands_in_its_column() -> None:
    membership, labels, properties, inversion, canaries, kinds = tables(FOUND)
    assert membership.rows == [["personal", "loss", "0.612", "4.6 %", "1,080 and 35"]]
    assert "at 1 % false alarms" in membership.note
    assert "Samples: of training, and of test." in membership.note
    assert labels.rows == [["message", "0.35", "3"]]
    assert properties.rows == [["predictions", "0.877", "66.7 %", "50.0 %", "none", "3"]]
    assert kinds.rows == [
        ["parameters", "a sum", "0.20", "8.26", "1e-05"],
        ["notes", "nothing", "–", "none", "–"],
    ]
    assert inversion.rows == [["message", "0.987", "25.0 %", "1.3 %", "0.720", "2"]]
    assert canaries.rows == [
        ["personal", "60", "21 of 30", "0.20", "none", "1e-05"],
        ["global", "60", "16 of 30", "0.00", "8.26", "1e-05"],
    ]
    for shown in tables(FOUND):
        assert {len(row) for row in shown.rows} == {len(shown.head)}


@pytest.mark.parametrize("part", ["labels", "properties", "inversion", "canaries"])
def test_what_was_not_tried_has_no_table(part) -> None:
    titles = [shown.title for shown in tables(FOUND)]
    left = [shown.title for shown in tables({**FOUND, part: None})]
    assert len(left) == 5
    assert set(left) < set(titles)


def test_the_page_says_its_limit_and_is_safe(tmp_path) -> None:
    path = write_page(FOUND, tmp_path)
    assert path == tmp_path / "audit.html"
    text = path.read_text()
    assert "Audit of ditto &lt;b&gt;, 7 rounds" in text
    assert "ditto <b>" not in text
    assert "3 of 11 clients were attacked." in text
    assert LIMIT in text
    assert LIMIT.endswith("One above the upper bound proves that the promise does not hold.")
    assert "confidence 95 % (Steinke et al., 2023), each row by itself." in text
    assert "21 of 30" in text


def test_words_stand_left_and_numbers_right(tmp_path) -> None:
    text = write_page(FOUND, tmp_path).read_text()
    assert "<td>loss</td>" in text
    assert "<td>a sum</td>" in text
    assert '<td class="n">0.612</td>' in text
