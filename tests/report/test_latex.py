"""Tables as LaTeX, read back by a small parser, which knows no command but those."""

import re
from pathlib import Path

import pytest

from fedkin.core.escaping import latex
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.experiments.paper import latex as latex_of
from fedkin.report.comparison.experiments.paper import paper_sheets
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.latex import tables as latex_tables
from tests.report.records_for_tests import write

MEANS = {
    r"\textbackslash": "\\",
    r"\textasciitilde": "~",
    r"\textasciicircum": "^",
    r"\textless": "<",
    r"\textgreater": ">",
    r"\textbar": "|",
    r"\ldots": "…",
    r"\pm": "±",
    r"\times": "×",
    r"\cdot": "·",
    r"\leq": "≤",
    r"\geq": "≥",
    r"\to": "→",
    r"\surd": "√",
    r"\varepsilon": "ε",
    r"\delta": "δ",
    r"\lambda": "λ",
}
TOKEN = re.compile(r"\\[A-Za-z]+(?:\{\})?|\\.|.", re.DOTALL)
TABLE = re.compile(
    r"\\begin\{table\}\n  \\centering\n  \\caption\{(?P<caption>.*)\}\n"
    r"  \\label\{tab:fedkin[a-z0-9-]*\}\n"
    r"  \\begin\{adjustbox\}\{max width=\\linewidth\}\n"
    r"  \\begin\{tabular\}\{(?P<form>[lr]+)\}\n    \\toprule\n(?P<head>.*)\n    \\midrule\n"
    r"(?P<rows>(?:.*\n)*?)    \\bottomrule\n  \\end\{tabular\}\n  \\end\{adjustbox\}\n"
    r"\\end\{table\}"
)
AWKWARD = 'a_b & 50 % of $x$ \\\\ #1 {x} ~^ <b> | [3] *x* `q\' "r" -- --- ?` é … ± → λ=1e-3'


def words(text: str) -> list[str]:
    """The cells of a row, or one text, as they are printed."""
    cells, depth, math, last = [""], 0, False, ""
    for token in TOKEN.findall(text):
        assert (last, token) not in {("-", "-"), ("?", "`"), ("!", "`"), ("'", "'"), ("`", "`")}
        last = token
        if token == "&":
            assert (depth, math) == (0, False)
            cells.append("")
        elif token in "{}":
            depth += 1 if token == "{" else -1
            assert depth >= 0
        elif token == "$":
            math = not math
        elif token == "-" and math:
            raise AssertionError("a sign of mathematics is written as text")
        elif token.startswith("\\") and not token[1].isalpha():
            assert token[1] in "&%$#_{}"
            cells[-1] += token[1]
        elif token.startswith("\\"):
            cells[-1] += MEANS[token.removesuffix("{}")]
        else:
            assert token not in "%#_^~\\", "not escaped"
            cells[-1] += token
    assert (depth, math) == (0, False)
    return [" ".join(cell.split()) for cell in cells]


def table(text: str) -> tuple[str, str, list[list[str]]]:
    """(caption, columns' form, rows with the head first) of the one table of a text."""
    (found,) = TABLE.finditer(text.replace("$-$", "−"))
    lines = [found["head"], *found["rows"].splitlines()]
    assert all(line.endswith(r" \\") for line in lines)
    assert not any(line.lstrip()[0] in "[*" for line in lines), "an option of the row before"
    rows = [words(line.removesuffix(r" \\")) for line in lines]
    assert {len(row) for row in rows} == {len(found["form"])}
    return words(found["caption"])[0], found["form"], rows


def test_every_sign_of_latex_is_printed_as_it_is() -> None:
    assert words(latex(AWKWARD)) == [" ".join(AWKWARD.split())]
    for mark in map(chr, range(32, 127)):
        assert words(f"x{latex(mark * 2)}x") == [" ".join(f"x{mark * 2}x".split())]


def test_rows_and_columns_stay_where_they_are() -> None:
    rows = [["[a]", AWKWARD, "-0.12 … +3.40"], ["*", "x\ny", "1e-05"], ["", "lam=-3", "–"]]
    text = latex_tables([Sheet("50 % of a_b", ["run", "set & up", "p"], rows, 2, "shared")], [])
    caption, form, found = table(text)
    assert (caption, form) == ("50 % of a_b. Shared.", "llr")
    assert found[0] == ["run", "set & up", "p"]
    assert found[1] == ["[a]", " ".join(AWKWARD.split()), "−0.12 … +3.40"]
    assert found[2:] == [["*", "x y", "1e-05"], ["", "lam=-3", "–"]]
    assert r"  \caption{50 \% of a\_b. Shared.}" in text.splitlines()


def test_each_table_has_a_label_of_its_own() -> None:
    titles = ["Ranks by final personal test accuracy", "Ranks by final personal test loss", "ü %"]
    text = latex_tables([Sheet(title, ["a"], [["1"]], 1) for title in [*titles, titles[0]]], [])
    assert re.findall(r"\\caption.*\n  \\label\{tab:(.*)\}", text) == [
        "fedkin-ranks-by-final-personal-test",
        "fedkin-ranks-by-final-personal-test-no2",
        "fedkin",
        "fedkin-ranks-by-final-personal-test-no3",
    ]


def test_a_column_without_a_word_is_left_out() -> None:
    rows = [["local", "", "1", ""], ["ditto", "", "2", ""]]
    found = table(latex_tables([Sheet("t", ["method", "setting", "mean", "p"], rows, 2)], []))
    assert found == ("t.", "lr", [["method", "mean"], ["local", "1"], ["ditto", "2"]])


def test_notes_are_comments() -> None:
    text = latex_tables([], ["a\n\\input{x}", "b\x0bc"])
    assert all(line.startswith("%") for line in text.splitlines() if line)
    assert r"% a \input{x}" in text


@pytest.mark.parametrize("name", ["a_b", "50%&#"])
def test_a_comparison_is_tables_of_methods_and_its_notes_name_runs(
    name: str, tmp_path: Path
) -> None:
    runs = [write(tmp_path / name), write(tmp_path / "y", seed=8, finished=False, until=1)]
    found = comparison(runs)
    text = latex_of(found)
    shown = paper_sheets(found)
    read = [table(part[0]) for part in TABLE.finditer(text)]
    assert [one[2] for one in read] == [_filled(sheet) for sheet in shown]
    assert name not in str(read)
    assert "% y is unfinished: round 1 of 2" in text


def _filled(sheet: Sheet) -> list[list[str]]:
    """Head and rows, without the columns that are empty in every row."""
    columns = [column for column in zip(sheet.columns, *sheet.rows, strict=True) if any(column[1:])]
    return [list(row) for row in zip(*columns, strict=True)]
