"""Tables made here: clean ones, and thirty with one fault each that would let a model cheat or
mislead it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedkin.data.formats.frames import Read
from fedkin.data.tables.findings import findings
from fedkin.data.tables.schema import Roles
from fedkin.data.tables.table import table_source

Frame = pd.DataFrame
ROWS = 420


def looked_at(frame: Frame, **roles: Any) -> list[dict[str, Any]]:
    """The problems that ``fedkin data check`` finds in a frame with the columns label and, if it is
    there, site.
    """
    asked = Roles(client="site" if "site" in frame else None, **roles)
    read = Read(frame.reset_index(drop=True), lambda row: f"row {row}")
    found: list[dict[str, Any]] = findings(table_source(read, "made", "made", asked), asked.label)[
        "problems"
    ]
    return found


def clinic(seed: int = 0, rows: int = ROWS, rare: bool = False) -> Frame:
    """A clean table: seven sites that differ, numbers of several kinds, words, gaps, a label that
    they tell a bit.
    """
    rng = np.random.default_rng(seed)
    site = rng.choice(list("ABCDEFG"), rows, p=[0.3, 0.2, 0.12, 0.1, 0.1, 0.1, 0.08])
    shift = pd.Series(site).map({one: k / 4 for k, one in enumerate("ABCDEFG")}).to_numpy()
    age = np.clip(rng.normal(58, 16, rows), 18, 97).round()
    pressure = rng.normal(120, 18, rows) + 4 * shift
    counts = rng.poisson(2.2, rows)
    dose = rng.lognormal(1.2, 0.8, rows).round(2)
    ward = rng.choice(["icu", "surgery", "medicine"], rows)
    score = (
        (age - 58) / 10
        + (pressure - 120) / 12
        + 0.5 * counts
        + shift
        - 1.5
        + 1.5 * rng.normal(size=rows)
    )
    label = score > (4.5 if rare else 0.3)
    frame = Frame(
        {
            "site": site,
            "age": age,
            "pressure": pressure,
            "visits": counts,
            "dose": dose,
            "ward": ward,
        }
    )
    frame.loc[rng.random(rows) < 0.1, "dose"] = np.nan
    return frame.assign(label=np.where(label, "sick", "well"))


def amounts(seed: int = 0, rows: int = ROWS) -> Frame:
    """A clean regression: what sensors' columns tell of a load."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    load = 3 * x[:, 0] - x[:, 1] * x[:, 2] + 0.8 * rng.normal(size=rows) + 20
    site = rng.integers(0, 6, rows)
    names = ("heat", "wind", "light", "noise")
    return Frame({"site": site, **dict(zip(names, x.T, strict=True))}).assign(label=load)


class Planted(NamedTuple):
    """One fault. ``kind`` and ``columns``: what must be told of it."""

    kind: str
    columns: tuple[str, ...]
    frame: Frame


def sick(frame: Frame) -> Any:
    """The label as 0 and 1."""
    return (frame["label"] == "sick").to_numpy().astype(int)


def copies(seed: int) -> dict[str, Planted]:
    """One column that tells the label."""
    rng = np.random.default_rng(seed)
    frame, numbers = clinic(seed), amounts(seed)
    y, n = sick(frame), len(frame)
    flipped = np.where(rng.random(n) < 0.03, 1 - y, y)
    few = clinic(seed + 1, 1500, rare=True)
    codes = {
        "copy": y,
        "copy as words": np.where(y, "died", "home"),
        "copy the other way": 3 - 2 * y,
        "copy with 3 % noise": flipped,
        "a threshold": y + rng.random(n) * 0.98,
        "a band": np.where(y, 5 + rng.random(n), rng.choice([0.0, 10.0], n) + rng.random(n)),
        "one word of many": [f"{'x' if one else 'z'}{rng.integers(0, 9)}" for one in y],
        "filled for one label": np.where(y, rng.normal(size=n), np.nan),
        "filled for some of one label": np.where(
            y & (rng.random(n) < 0.6), rng.normal(size=n), np.nan
        ),
        "empty for some of one label": np.where(
            y & (rng.random(n) < 0.5), np.nan, rng.normal(size=n)
        ),
        "sorted by label": np.argsort(np.argsort(y + rng.random(n) / 2)) / 7,
    }
    found = {
        name: Planted("leak", ("odd",), frame.assign(odd=cells)) for name, cells in codes.items()
    }
    found["copy of a rare label"] = Planted("leak", ("odd",), few.assign(odd=sick(few)))
    found["threshold of a rare label"] = Planted(
        "leak", ("odd",), few.assign(odd=sick(few) + rng.random(len(few)))
    )
    found["amount in another unit"] = Planted(
        "leak", ("odd",), numbers.assign(odd=numbers.label * 1.8 + 32)
    )
    noisy = numbers.label + 0.05 * rng.normal(size=len(numbers))
    found["amount with noise"] = Planted("leak", ("odd",), numbers.assign(odd=noisy))
    found["amount rounded"] = Planted("leak", ("odd",), numbers.assign(odd=numbers.label.round(1)))
    three = frame.assign(label=np.where(frame.age > 70, "old", frame["label"]))
    found["three classes"] = Planted(
        "leak", ("odd",), three.assign(odd=np.where(three["label"] == "old", 2, y))
    )
    return found


def pairs(seed: int) -> dict[str, Planted]:
    """Two columns that tell the label together, and neither alone."""
    rng = np.random.default_rng(seed)
    frame, numbers = clinic(seed), amounts(seed)
    y, n = sick(frame), len(frame)
    bit, base = rng.integers(0, 2, n), rng.normal(size=n) * 9
    third = rng.integers(0, 3, n)
    spread = rng.normal(3, 0.5, len(numbers))
    made = {
        "exclusive or": (bit, bit ^ y),
        "difference": (base, base + np.where(y, 1, -1) * rng.random(n)),
        "words": (np.array(list("pqr"))[third], np.array(list("uvw"))[(third + y) % 3]),
        "sum": (base, -base + np.where(y, 1, -1) * rng.random(n)),
    }
    found = {
        name: Planted("leak", ("a", "b"), frame.assign(a=a, b=b)) for name, (a, b) in made.items()
    }
    found["parts of a total"] = Planted(
        "leak", ("a", "b"), numbers.assign(a=5 * base, b=numbers.label - 5 * base)
    )
    found["price and amount"] = Planted(
        "leak", ("a", "b"), numbers.assign(a=spread, b=numbers.label / spread)
    )
    return found


def others(seed: int) -> dict[str, Planted]:
    """Identifiers, dates after the outcome, marks for nothing, repeated rows."""
    rng = np.random.default_rng(seed)
    frame = clinic(seed)
    n = len(frame)
    numbered = frame.assign(case=np.arange(n) + 40_000)
    again = pd.concat([numbered, numbered.iloc[[7]]])
    renumbered = pd.concat([frame, frame.iloc[5:25]]).assign(case=np.arange(n + 20) + 9)
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    event = start + pd.to_timedelta(rng.integers(1, 40, n), unit="D")
    later = event + pd.to_timedelta(rng.integers(1, 40, n), unit="D")
    days = {"admitted": start, "event_date": event, "checked": later}
    written = {name: one.strftime("%Y-%m-%d") for name, one in days.items()}
    return {
        "identifier": Planted("identifier", ("case",), numbered),
        "identifier with a repeated row": Planted("identifier", ("case",), again),
        "random identifiers": Planted(
            "identifier", ("odd",), frame.assign(odd=rng.permutation(900_000)[:n] + 100_000)
        ),
        "identifiers of words": Planted(
            "identifier", ("odd",), frame.assign(odd=[f"P{7 * k}" for k in range(n)])
        ),
        "rows repeated under new numbers": Planted("duplicates", (), renumbered),
        "a date after the outcome": Planted(
            "after the outcome", ("checked",), frame.assign(**written)
        ),
        "a date of discharge": Planted(
            "after the outcome",
            ("discharge_date",),
            frame.assign(discharge_date=written["event_date"]),
        ),
    }


def planted() -> dict[str, Planted]:
    """All thirty."""
    return {**copies(3), **pairs(4), **others(5)}


def unclean(seed: int) -> dict[str, Planted]:
    """What is no leak and still misleads: marks for nothing, spellings, repeats, clients who write
    a column otherwise, or are too few rows to judge.
    """
    rng = np.random.default_rng(seed)
    frame = clinic(seed)
    few, many = (rng.choice(len(frame), n, replace=False) for n in (14, 60))
    at = {site: (frame.site == site).to_numpy() for site in "BCG"}
    again, elsewhere = (frame[frame.site == one].iloc[:22] for one in "AB")
    two, twelve = frame.iloc[[4, 90]].assign(site="H"), clinic(seed + 1, 12).assign(site="I")

    def changed(column: str, rows: Any, cells: Any) -> Frame:
        other = frame.copy()
        other.loc[rows, column] = cells
        return other

    return {
        "-1 for nothing": Planted("sentinel", ("age",), changed("age", few, -1)),
        "999 for nothing": Planted("sentinel", ("pressure",), changed("pressure", few, 999)),
        "a word with a space": Planted(
            "spelling", ("ward",), frame.assign(ward=frame.ward.mask(at["B"], frame.ward + " "))
        ),
        "a label in capitals": Planted(
            "spelling",
            (),
            frame.assign(label=frame.label.mask(np.isin(np.arange(len(frame)), many), "SICK")),
        ),
        "another unit at one site": Planted(
            "drift",
            ("pressure",),
            changed("pressure", at["G"], frame.pressure[at["G"]] * 0.1333),
        ),
        "nothing at one site": Planted("drift", ("dose",), changed("dose", at["C"], np.nan)),
        "words of its own at one site": Planted(
            "drift", ("ward",), changed("ward", at["B"], rng.choice(["w1", "w2"], at["B"].sum()))
        ),
        "rows repeated in a client": Planted("duplicates", (), pd.concat([frame, again])),
        "rows repeated across clients": Planted(
            "duplicates", (), pd.concat([frame, elsewhere.assign(site="E")])
        ),
        "a client with two rows": Planted("small client", (), pd.concat([frame, two])),
        "a client with twelve rows": Planted(
            "client hard to judge", (), pd.concat([frame, twelve])
        ),
    }


def sensors(seed: int) -> Frame:
    """Clean, and unlike: clients of different sizes whose labels and features differ."""
    rng = np.random.default_rng(seed)
    parts = []
    for client in range(8):
        n = int(rng.integers(30, 120))
        x = rng.normal(rng.normal(size=5) * 0.7, 1.0, (n, 5))
        y = (x @ rng.normal(size=5) + rng.normal(size=n) > 0.5 * rng.normal()).astype(int)
        parts.append(Frame(x, columns=list("abcde")).assign(site=f"n{client}", label=y))
    return pd.concat(parts)


def codes_and_counts(seed: int) -> Frame:
    """Clean: whole numbers of few and of many values, incomes, years, and −1 as a number like
    others.
    """
    rng = np.random.default_rng(seed)
    n = 600
    income = rng.lognormal(10.4, 0.6, n).round()
    change = rng.integers(-3, 4, n)
    year = rng.integers(1950, 2010, n)
    yes = (np.log(income) - 10.4 + change / 3 + (1980 - year) / 40 + rng.normal(size=n)) > 0
    zip_code = rng.integers(100, 140, n)
    return Frame(
        {
            "site": rng.integers(0, 9, n),
            "income": income,
            "change": change,
            "born": year,
            "zip": zip_code,
        }
    ).assign(label=yes.astype(int))


def words_only(seed: int) -> Frame:
    """Clean: five columns of few words, whose rows repeat by chance."""
    rng = np.random.default_rng(seed)
    n = 700
    columns = {name: rng.choice(list("pqrs"), n) for name in ("one", "two", "three")}
    yes = (columns["one"] == "p") | (rng.random(n) < 0.3)
    return Frame({"site": rng.integers(0, 7, n), **columns, "label": yes.astype(int)})


def of_sklearn(name: str) -> Frame:
    """A set of scikit-learn's, as people have it in a table."""
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    frame = Frame(loaded.data, columns=[str(one) for one in range(loaded.data.shape[1])])
    site = np.random.default_rng(0).integers(0, 4, len(frame))
    label = loaded.target.astype(float) + (0.5 if name == "diabetes" else 0)
    return frame.assign(site=site, label=label if name == "diabetes" else label.astype(int))


CLEAN: dict[str, Callable[[], Frame]] = {
    "clinic": lambda: clinic(11),
    "another clinic": lambda: clinic(12, 900),
    "rare labels": lambda: clinic(13, 2000, rare=True),
    "amounts": lambda: amounts(14),
    "sensors": lambda: sensors(15),
    "codes and counts": lambda: codes_and_counts(16),
    "words": lambda: words_only(17),
    "iris": lambda: of_sklearn("iris"),
    "wine": lambda: of_sklearn("wine"),
    "breast_cancer": lambda: of_sklearn("breast_cancer"),
    "diabetes": lambda: of_sklearn("diabetes"),
}
