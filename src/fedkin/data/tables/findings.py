"""What a data set is made of and what is wrong with it, as plain values: what ``fedkin data check``
tells.
"""

import re
from typing import Any

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.arrays import Array, Ints
from fedkin.data.holdout import FEWEST
from fedkin.data.source import Source
from fedkin.data.tables.client_column import likely_clients
from fedkin.data.tables.columns import Recipe
from fedkin.data.tables.duplicate_rows import same_rows
from fedkin.data.tables.similar_names import alike

SHOWN = 5  # names in a sentence
FEW = 50  # rows, up to which amounts may all differ by chance
MANY = 20  # classes that are whole numbers, beyond which they are rather amounts
DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ].*)?", re.DOTALL
)


def findings(source: Source) -> dict[str, Any]:
    """name, task, samples, shape, columns, classes, clients, likely_clients, duplicates, said and
    problems of a Source.

    Counts are of samples. ``said``: what was left out. ``problems``: sentences, each with a remedy;
    none of them keeps the data from being read. ``clients`` and what is counted by client is None
    where the data name no clients.
    """
    names, owner = _clients(source)
    sizes = None if owner is None else np.bincount(owner, minlength=len(names))
    table = None if owner is None or not source.classes else _by_class(source, owner, len(names))
    twice = _duplicates(source, owner)
    columns = [] if source.columns is None else _columns(source.columns, source.x)
    return {
        "name": source.name,
        "task": source.task,
        "samples": len(source.x),
        "official_test": None if source.official_test is None else int(source.official_test.sum()),
        "shape": list(source.x.shape[1:]),
        "columns": columns,
        "classes": _classes(source),
        "clients": None if sizes is None else _sizes(names, sizes, table),
        "likely_clients": likely_clients(source),
        "duplicates": twice,
        "said": list(source.said),
        "problems": [
            *_column_problems(columns, len(source.x)),
            *_alike_problems(source, names),
            *_class_problems(source),
            *_client_problems(source, names, sizes, table),
            *_duplicate_problems(twice),
        ],
    }


def _clients(source: Source) -> tuple[list[str], Ints | None]:
    if source.client is None:
        return [], None
    names, owner = np.unique(source.client, return_inverse=True)
    return [str(name) for name in names], owner.astype(np.int64)


def _columns(recipe: Recipe, x: Array) -> list[dict[str, Any]]:
    found = []
    for at, column in enumerate(recipe.columns):
        cells = x[:, at]
        missing = int(np.isnan(cells).sum())
        one: dict[str, Any] = {"name": column.name, "kind": "number", "missing": missing}
        if column.values:
            one |= {"kind": "text" if column.text else "category", "values": len(column.values)}
            dated = not column.text and all(
                DATE.fullmatch(value.strip()) for value in column.values
            )
            one |= {"dates": column.values[0]} if dated else {}
        elif missing < len(cells):
            one |= {"least": float(np.nanmin(cells)), "most": float(np.nanmax(cells))}
            one |= {"one_a_row": True} if _one_a_row(cells) else {}
        found.append(one)
    return found


def _classes(source: Source) -> list[dict[str, Any]]:
    counts = np.bincount(source.y, minlength=source.classes) if source.classes else np.empty(0)
    names = source.class_names or [str(c) for c in range(source.classes)]
    return [{"name": name, "samples": int(count)} for name, count in zip(names, counts)]


def _by_class(source: Source, owner: Ints, clients: int) -> Ints:
    flat = np.bincount(owner * source.classes + source.y, minlength=clients * source.classes)
    return flat.reshape(clients, source.classes)


def _sizes(names: list[str], sizes: Ints, table: Ints | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "count": len(names),
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "first": names[:SHOWN],
    }
    if table is not None:
        shares = table / sizes[:, None]
        apart = np.abs(shares - table.sum(axis=0) / table.sum()).sum(axis=1) / 2
        found |= {
            "one_class": int((np.count_nonzero(table, axis=1) == 1).sum()),
            "label_distance": float(apart.mean()),
        }
    return found


def _duplicates(source: Source, owner: Ints | None) -> dict[str, int]:
    """Samples that an earlier row holds already: in the same client, in another; test rows that are
    training rows.
    """
    same = same_rows(source.x, source.y)
    found = {"all": len(same) - len(np.unique(same))}
    if owner is not None:
        pairs = np.unique(np.stack([same, owner], axis=1), axis=0)
        found |= {
            "within_clients": len(same) - len(pairs),
            "across_clients": len(pairs) - len(np.unique(same)),
        }
    if source.official_test is not None:
        known = np.isin(same[source.official_test], same[~source.official_test])
        found["test_in_train"] = int(known.sum())
    return found


def _column_problems(columns: list[dict[str, Any]], rows: int) -> list[str]:
    said = []
    for column in columns:
        name = repr(column["name"])
        drop = f"--set 'data.drop=[\"{column['name']}\"]'"
        values = column.get("values", 0)
        if column["missing"] == rows:
            said.append(f"column {name} is empty in all rows: leave it out with {drop}")
        elif values == 1 or (column["kind"] == "number" and column["least"] == column["most"]):
            said.append(f"column {name} holds one value only, which tells a model nothing: {drop}")
        elif column.get("one_a_row"):
            said.append(
                f"column {name} holds another whole number in every row, as identifiers do: "
                f"if it is one, {drop}"
            )
        elif "dates" in column:
            said.append(
                f"column {name} holds dates ({column['dates']!r}), each taken for a category: "
                "turn them into "
                f"numbers (days since a first one, a month), or leave it out with {drop}"
            )
        elif column["kind"] == "category" and rows > 20 and values > rows / 2:
            said.append(
                f"column {name} holds {values:,} different words in {rows:,} rows, as "
                "identifiers do: leave it out "
                f"with {drop}, or take its words with --set 'data.text=[\"{column['name']}\"]'"
            )
    return said


def _one_a_row(cells: Array) -> bool:
    """Whether every row has a whole number of its own, as far as float32 can tell them apart."""
    known = cells[~np.isnan(cells)].astype(np.float64)
    if len(known) <= FEW or (known != np.rint(known)).any():
        return False
    step = float(
        np.spacing(np.float32(np.abs(known).max()))
    )  # above 1 from 16,777,216 on: neighbours are one number
    different = len(np.unique(known))
    return different == len(known) or (
        step > 1 and different >= 0.9 * min(len(known), np.ptp(known) / step)
    )


def _alike_problems(source: Source, clients: list[str]) -> list[str]:
    """Spellings of one thing that the data take for several.

    Letters as classes (A and a) are no spellings.
    """
    columns = () if source.columns is None else source.columns.columns
    places = [
        (
            "labels",
            source.class_names
            if columns or any(len(name) > 1 for name in source.class_names)
            else (),
        ),
        ("clients", clients),
        *(
            (f"values of column {column.name!r}", column.values)
            for column in columns
            if not column.text
        ),
    ]
    said = []
    for what, names in places:
        groups = alike(names)
        if groups:
            more = f"; and {len(groups) - SHOWN:,} more such" if len(groups) > SHOWN else ""
            shown = (
                "; ".join(" and ".join(map(repr, group[:SHOWN])) for group in groups[:SHOWN]) + more
            )
            said.append(
                f"{what} that differ by little are taken for different ones: {shown}: write "
                "them alike"
            )
    return said


def _class_problems(source: Source) -> list[str]:
    if not source.classes:
        return []
    counts = np.bincount(source.y, minlength=source.classes)
    if source.classes == 1:
        return ["all samples are of one class: there is nothing to learn"]
    if _amounts(source):
        span = f"{source.class_names[0]} to {source.class_names[-1]}"
        return [
            f"the labels are {source.classes:,} whole numbers, {span}, each taken for a "
            "class: if they are amounts, "
            "say --set data.task=regression"
        ]
    rare = np.flatnonzero(counts < FEWEST)
    names = source.class_names or tuple(str(c) for c in range(source.classes))
    if not len(rare):
        return []
    which = some([names[c] for c in rare])
    return [f"{many(len(rare), 'class has', 'classes have')} fewer than {FEWEST} samples: {which}"]


def _amounts(source: Source) -> bool:
    """Whether a table's labels look like numbers to predict: more of them than people give names
    to.
    """
    if source.columns is None or source.classes <= MANY:
        return False
    return all(name.lstrip("-").isdecimal() for name in source.class_names)


def _client_problems(
    source: Source, names: list[str], sizes: Ints | None, table: Ints | None
) -> list[str]:
    if sizes is None:
        likely = [
            f"column {name!r} looks like it ({values:,} values): "
            for name, values in likely_clients(source).items()
        ]
        how = "name their column with --set data.client=COLUMN, or let" if source.columns else "let"
        return [f"no clients are named: {''.join(likely[:1])}{how} --split divide the rows"]
    said = []
    if len(names) == 1:
        said.append(f"all rows belong to one client, {names[0]!r}: there is no one to learn from")
    small = np.flatnonzero(sizes < FEWEST)
    if len(small):
        said.append(
            f"{len(small)} of {len(names)} clients have fewer than {FEWEST} samples, too few "
            "for train, validation and "
            f"test: {some([names[k] for k in small])}: a run leaves them out with --set "
            "split.empty=drop"
        )
    one: Ints = (
        np.empty(0, dtype=np.int64)
        if table is None
        else np.flatnonzero(np.count_nonzero(table, axis=1) == 1)
    )
    if len(one):
        which = some([names[k] for k in one])
        said.append(
            f"{len(one)} of {len(names)} clients hold one class only, so that any guess of it "
            f"is right: {which}"
        )
    return said


def _duplicate_problems(twice: dict[str, int]) -> list[str]:
    said = []
    if known := twice.get("test_in_train"):
        these = many(known, "test sample is a training sample", "test samples are training samples")
        said.append(f"{these} too: test accuracy would be too high")
    if shared := twice.get("across_clients"):
        these = many(shared, "sample is", "samples are")
        said.append(f"{these} held by another client too: whoever trains on them knows them")
    if own := twice.get("within_clients"):
        these = many(own, "sample repeats", "samples repeat")
        said.append(
            f"{these} another of the same client, and a random split can put one into train "
            "and one into test: "
            "--set split.group=duplicates keeps equal ones together"
        )
    elif "within_clients" not in twice and twice["all"]:
        these = many(twice["all"], "sample repeats", "samples repeat")
        said.append(f"{these} another, and a random split can put one into train and one into test")
    return said
