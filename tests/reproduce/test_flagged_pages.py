"""Published numbers that contradict themselves, on the pages of docs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedkin.reproduce.preset import Flag, names, preset

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if re.search(r"\| *published", path.read_text("utf-8"))
)
NUMBER = re.compile(r"\d+\.\d+")


def paper(name: str) -> str:
    """The paper that a preset, or a row, is of; the preprint shows COMET's numbers."""
    word = name.split("-")[0]
    return "comet" if word == "perfed" else word


FLAGS = [(paper(name), flag) for name in names() for flag in preset(name, "full").flagged]
PAPERS = {of for of, _ in FLAGS}


def shown(text: str) -> Iterator[tuple[str, float]]:
    """The row and the number of every cell of a table's published columns."""
    columns: list[int] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.lstrip().startswith("|"):
            columns = []
        elif any(cell.startswith("published") for cell in cells):
            columns = [k for k, cell in enumerate(cells) if cell.startswith("published")]
        for k in columns:
            if k < len(cells) and (number := NUMBER.match(cells[k])):
                yield cells[0], float(number.group())


def about(flag: Flag, of: str, row: str, number: float) -> bool:
    """Whether a cell shows what the flag is about. A row that names no paper may be of any."""
    if paper(row) in PAPERS and paper(row) != of:
        return False
    return number in flag.numbers or any(word in row for word in flag.rows)


def missing(text: str) -> set[str]:
    """The flags whose numbers a page shows without saying what is wrong with them."""
    cells, said = list(shown(text)), " ".join(text.split())
    return {
        flag.says
        for of, flag in FLAGS
        if any(about(flag, of, *cell) for cell in cells) and flag.says not in said
    }


def pages() -> Iterator[object]:
    for page in PAGES:
        yield pytest.param(page, id=page.relative_to(DOCS).as_posix())


@pytest.mark.parametrize("page", list(pages()))
def test_a_page_says_what_is_wrong_with_the_published_numbers_it_shows(page: Path) -> None:
    assert missing(page.read_text("utf-8")) == set()


@pytest.mark.parametrize(
    ("row", "number", "says"),
    [
        ("persfl-t3-ds2-fedper", "85.50", "FedPer on DS-2 equals"),
        ("comet-t3-cnn-local-C0.10", "64.02", "FedMD's 64.02"),
        ("local", "64.02", "FedMD's 64.02"),
        ("perfed-t1-ditto-C0.15", "19.16", "The text has every personalized method"),
        ("cgpfl-t1-faster-dnn-pfedme_pm", "92.20", "pFedMe on MNIST with the hidden layer"),
        ("ppfl-t1-synthetic-local", "66.13", "Synthetic is not the mixture"),
    ],
)
def test_a_number_without_its_flag_is_found(row: str, number: str, says: str) -> None:
    page = f"| row | what | published |\n|---|---|---|\n| {row} | accuracy | {number} |\n"
    found = missing(page)
    assert {text for text in found if not text.startswith(says)} == set()
    assert found
    assert missing(page + "".join(f"\n- {text}\n" for text in found)) == set()


def test_numbers_of_other_papers_and_measured_ones_are_let_pass() -> None:
    head = "| row | published | measured |\n|---|---|---|\n"
    assert missing(head + "| persfl-t3-ds1-fedavg | 64.02 | 85.50 |\n") == set()
