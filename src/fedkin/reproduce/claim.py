"""The claims register: what the papers say of one run against another, as data. TOML files in
``claims``, one a paper.

A file has ``paper`` (its title) and ``claims``. A claim has ``id``, ``where`` it stands, what it
``says`` in our own words, and a ``test``: its ``kind`` (see KINDS), the rows that it compares, and
a ``measure`` (``claim_numbers``). Rows are named as in the presets at full scale. ``cases`` are
axes: {axis} in a name stands for each of its values, and the test is made for every combination.
``rows`` at the top of a file are runs that no preset has: ``of`` a row, with changes in ``set``;
they have axes, too. ``stand_ins``: beginnings of rows' names → the beginning of those that stand
for them where the papers' scale was run with another model, and ``stand_ins_say`` what that is.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import product
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, unknown
from fedkin.reproduce.claim_numbers import NUMBERS
from fedkin.reproduce.preset import Row, names, preset

Keys = tuple[str, ...]
KINDS: dict[str, tuple[Keys, Keys]] = {  # kind → keys that name rows, other keys it may have
    "above": (("high", "low"), ("margin", "at_most")),
    "within": (("row", "of"), ("margin",)),
    "best": (("row", "among"), ("margin",)),
    "trend": (("over",), ("direction", "margin")),
    "order": (("over",), ("margin",)),
    "reaches": (("row",), ("at_least", "at_most")),
    "ratio": (("row", "to"), ("at_least", "at_most")),
    "share": (("high", "low"), ("at_least",)),
    "steadier": (("row", "than"), ()),
}
KEYS = {"id", "where", "says", "test", "cases", "note"}
DIRECTIONS = ("up", "down")
Content = Mapping[str, Any]


class Case(NamedTuple):
    """One test: ``name`` tells it from the claim's others, "" where it is the only one. ``rows``:
    by key of the test.

    ``bounds``: margin, at_least, at_most, as they stand there.
    """

    name: str
    kind: str
    measure: str
    rows: dict[str, tuple[str, ...]]
    bounds: dict[str, float]
    direction: str = "up"

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of all rows that it compares."""
        return tuple(dict.fromkeys(name for names in self.rows.values() for name in names))


class Claim(NamedTuple):
    """One claim of a paper.

    ``says``: in our own words. ``note``: how it was read, where that was a choice.
    """

    paper: str
    id: str
    where: str
    says: str
    note: str
    cases: tuple[Case, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of all rows that its tests compare, each once."""
        return tuple(dict.fromkeys(name for case in self.cases for name in case.needs))


class Register(NamedTuple):
    """``titles``: paper → its title. ``own``: definitions of the rows that no preset has.
    ``stand_ins``: at the papers' scale, beginning of a row's name → of the one that stands for it;
    ``said``: what these are, by paper.
    """

    titles: dict[str, str]
    claims: tuple[Claim, ...]
    own: dict[str, Content]
    stand_ins: Mapping[str, str] = {}
    said: Mapping[str, str] = {}


def register(paper: str | None = None) -> Register:
    """The claims of a paper, or of all of them.

    Args:
        paper: Its short name, such as "comet"; None: all.

    Returns:
        The claims, with the rows that they compare.

    Raises:
        FedkinError: The paper has no claims, or its file is wrong.
    """
    texts = _texts()
    if paper is not None and paper not in texts:
        raise unknown("paper", paper, texts)
    read = [read_claims(name, text) for name, text in texts.items() if paper in (None, name)]
    claims = tuple(claim for one in read for claim in one.claims)
    return Register(
        {k: v for one in read for k, v in one.titles.items()},
        claims,
        {k: v for r in read for k, v in r.own.items()},
        {k: v for r in read for k, v in r.stand_ins.items()},
        {k: v for r in read for k, v in r.said.items()},
    )


def read_claims(paper: str, text: str) -> Register:
    """The register of one file.

    Args:
        paper: The file's name, without its ending.
        text: TOML.

    Returns:
        The claims of that file.

    Raises:
        FedkinError: The first mistake; names the file, the claim, and the nearest valid choice.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FedkinError(f"{paper}.toml is not TOML: {error}") from None
    _keys(f"{paper}.toml", content, {"paper", "claims", "rows", "stand_ins", "stand_ins_say"})
    own = dict(_own(paper, content.get("rows", {})))
    claims = tuple(_claim(paper, one) for one in content.get("claims", []))
    ids = [claim.id for claim in claims]
    for twice in sorted({one for one in ids if ids.count(one) > 1}):
        raise FedkinError(f"{paper}.toml: claim {twice!r} is there twice")
    stand_in_words = {paper: content["stand_ins_say"]} if "stand_ins_say" in content else {}
    titles = {paper: content.get("paper", paper)}
    return Register(titles, claims, own, content.get("stand_ins", {}), stand_in_words)


def rows_of(register: Register, scale: str) -> dict[str, Row]:
    """The rows that the claims compare, by their names in the claims; at a scale.

    Args:
        register: The claims.
        scale: "small" or "full".

    Returns:
        {name in the claims: row}.

    Raises:
        FedkinError: A claim compares a row that is not there.
    """
    known = preset_rows(scale)
    rows = {}
    for claim in register.claims:
        for name in claim.needs:
            rows[name] = (
                known[name] if name in known else _made(claim, name, register.own, known, scale)
            )
    return rows


@cache
def preset_rows(scale: str) -> dict[str, Row]:
    """Every row of every preset by its name at full scale.

    Args:
        scale: "small" or "full".

    Returns:
        {name at full scale: row at this scale}.
    """
    pairs = ((preset(name, "full").rows, preset(name, scale).rows) for name in names())
    return {full.name: row for whole, rows in pairs for full, row in zip(whole, rows, strict=True)}


def like(name: str, own: Mapping[str, Content]) -> str:
    """The preset's row whose cost a row is estimated from.

    Args:
        name: Of a row, in a claim.
        own: Definitions of the rows that no preset has.

    Returns:
        The name of a preset's row.
    """
    return str(own[name]["of"]) if name in own else name


def _made(
    claim: Claim, name: str, own: Mapping[str, Content], known: Mapping[str, Row], scale: str
) -> Row:
    if name not in own:
        raise FedkinError(f"claim {claim.id}: {unknown('row', name, _near(name, [*known, *own]))}")
    if own[name]["of"] not in known:
        raise FedkinError(
            f"row {name}: {unknown('row', own[name]['of'], _near(own[name]['of'], known))}"
        )
    row = known[own[name]["of"]]
    changes = {**row.changes, **own[name].get("set", {}), **own[name].get(scale, {})}
    return row._replace(name=name + ("" if scale == "full" else f"-{scale}"), changes=changes)


def _near(name: str, choices: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Names with the same beginning, so that the choices fit a line; some where none has it."""
    for length in range(len(name), 0, -1):
        if alike := [one for one in choices if one.startswith(name[:length])]:
            return alike[:8]
    return list(choices)[:8]


def _own(paper: str, content: Content) -> dict[str, Content]:
    rows: dict[str, Content] = {}
    for name, one in content.items():
        _keys(f"{paper}.toml: row {name}", one, {"of", "set", "axes", "full", "small"})
        axes: Mapping[str, Content] = one.get("axes", {})
        for options in product(*(axis.items() for axis in axes.values())):
            changes = dict(one.get("set", {}))
            for _, option in options:
                changes.update(option)
            chosen = {axis: value for axis, (value, _) in zip(axes, options, strict=True)}
            whole = "-".join([name, *chosen.values()])
            rows[whole] = {**one, "of": _filled(one["of"], chosen, whole), "set": changes}
    return rows


def _claim(paper: str, content: Content) -> Claim:
    at = f"{paper}.toml: claim {content.get('id', 'without id')}"
    _keys(at, content, KEYS)
    for key in ("id", "where", "says", "test"):
        if key not in content:
            raise FedkinError(f"{at}: {key} is missing")
    axes: Mapping[str, list[str]] = content.get("cases", {})
    cases = []
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        cases.append(_case(at, content["test"], chosen))
    return Claim(
        paper,
        content["id"],
        content["where"],
        content["says"],
        content.get("note", ""),
        tuple(cases),
    )


def _case(at: str, test: Content, chosen: Mapping[str, str]) -> Case:
    kind = test.get("kind", "")
    if kind not in KINDS:
        raise FedkinError(f"{at}: {unknown('kind', str(kind), KINDS)}")
    rows, other = KINDS[kind]
    _keys(at, test, {"kind", "measure", *rows, *other})
    if missing := [key for key in rows if key not in test]:
        raise FedkinError(f"{at}: a test of kind {kind} needs {' and '.join(missing)}")
    measure = test.get("measure", "accuracy")
    if measure not in NUMBERS:
        raise FedkinError(f"{at}: {unknown('measure', measure, NUMBERS)}")
    direction = test.get("direction", "up")
    if direction not in DIRECTIONS:
        raise FedkinError(f"{at}: {unknown('direction', direction, DIRECTIONS)}")
    bounds = {key: float(test[key]) for key in ("margin", "at_least", "at_most") if key in test}
    if "at_least" in other and len(bounds) != 1:
        raise FedkinError(f"{at}: a test of kind {kind} needs one of {' and '.join(other)}")
    named = {key: tuple(_filled(one, chosen, at) for one in _listed(test[key])) for key in rows}
    if kind in ("trend", "order") and len(named["over"]) < 3:
        raise FedkinError(f"{at}: a test of kind {kind} needs at least three rows in over")
    return Case(", ".join(chosen.values()), kind, measure, named, bounds, direction)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _filled(text: str, chosen: Mapping[str, str], at: str) -> str:
    try:
        return text.format(**chosen)
    except (KeyError, IndexError, ValueError):
        raise FedkinError(
            f"{at}: {text} names an axis that is not there: {', '.join(chosen) or 'none is'}"
        ) from None


def _keys(at: str, content: Content, allowed: set[str]) -> None:
    for key in content:
        if key not in allowed:
            raise FedkinError(f"{at}: {unknown('key', key, allowed)}")


@cache
def _texts() -> dict[str, str]:
    folder = resources.files("fedkin.reproduce").joinpath("claims")
    return {
        path.name.removesuffix(".toml"): path.read_text(encoding="utf-8")
        for path in sorted(folder.iterdir(), key=lambda path: path.name)
        if path.name.endswith(".toml")
    }
