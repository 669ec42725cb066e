"""A method is as short as it was at the first structure (commit 6617742), or says what made it
longer.

Counted are lines of code: no blank line, comment, docstring or string that only describes. The
lines of then are counted after formatting to today's width of 100 columns. A method that came later
is a file of fewer than 120 lines.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

import fedkin
from fedkin.methods import METHODS

FOLDER = Path(fedkin.__file__).parent / "methods"
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
THEN = {
    "apfl": 44,
    "centralized": 4,
    "cgpfl": 120,
    "cgpfl_heur": 45,
    "clustered_fl": 106,
    "comet": 140,
    "ditto": 42,
    "ds_fl": 39,
    "fedavg": 34,
    "feddf": 67,
    "fedem": 68,
    "fedfomo": 149,
    "fedmd": 112,
    "fedper": 6,
    "fedprox": 20,
    "fedsim": 10,
    "finetune": 20,
    "hypcluster": 78,
    "ifca": 101,
    "kt_pfl": 109,
    "l2sgd": 53,
    "lg_fedavg": 9,
    "local": 28,
    "partial_fl": 105,
    "per_fedavg": 62,
    "persfl": 161,
    "pfedme": 8,
    "ppfl": 283,
    "scaffold": 61,
}
GREW = {  # method → lines more than then; docs/architecture.md has what each of them does
    "apfl": 9,
    "centralized": 2,
    "cgpfl": 1,
    "cgpfl_heur": 8,
    "fedper": 1,
    "fedsim": 4,
    "finetune": 11,
    "l2sgd": 5,
    "lg_fedavg": 4,
    "pfedme": 20,
}
SHORT = 120  # lines of the file of a method that came later, with its docstrings: it has fewer
NOTHING = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Lines that hold code."""
    rows: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOTHING:
            rows |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone and isinstance(node.value.value, str):
            rows -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(rows)


def file_of(name: str) -> Path:
    return FOLDER / (name.replace(".", "/") + ".py")


def parts_of(names: Iterable[str]) -> set[str]:
    """The names of the files in ``methods/parts`` that methods use, however indirectly."""
    found: set[str] = set()
    waiting = [file_of(name) for name in names]
    while waiting:
        imported = re.findall(
            r"^from fedkin\.methods\.parts\.([\w.]+) import", waiting.pop().read_text("utf-8"), re.M
        )
        waiting += [file_of(f"parts.{part}") for part in set(imported) - found]
        found |= set(imported)
    return found


def now(name: str) -> str:
    return file_of(name).read_text(encoding="utf-8")


def test_no_method_is_longer_but_for_a_reason() -> None:
    grown = {name: code_lines(now(name)) - then for name, then in THEN.items()}
    assert {name: more for name, more in grown.items() if more > 0} == GREW
    assert set(THEN) <= set(METHODS)
    assert sum(grown.values()) < 0


def test_a_newer_method_is_a_short_file() -> None:
    newer = {name: len(now(name).splitlines()) for name in METHODS if name not in THEN}
    assert newer
    assert {name: lines for name, lines in newer.items() if lines >= SHORT} == {}


def test_every_reason_is_on_the_page() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    for name, more in GREW.items():
        assert any(
            row.startswith(f"| `{name}` | {THEN[name]} | {THEN[name] + more} |") for row in rows
        ), name
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    lines = sum(code_lines(now(name)) for name in THEN)
    assert f"their files had {sum(THEN.values()):,} lines, and have {lines:,} today" in text
    parts = parts_of(THEN)
    shared = sum(code_lines(now(f"parts.{part}")) for part in parts)
    assert len(parts) == 19
    assert f"the nineteen in `methods/parts` that these {len(THEN)} use have {shared}." in text


def test_fedavg_and_ditto_fit_a_screen() -> None:
    assert len(now("fedavg").splitlines()) <= 56
    assert len(now("ditto").splitlines()) <= 54


def test_only_code_is_counted() -> None:
    text = '"""Doc\n\nstring."""\n\n# why\nx = 1\n\n\ndef f() -> int:\n    """Doc."""\n'
    text += "    return (\n        x\n    )\n"
    assert code_lines(text) == 5
