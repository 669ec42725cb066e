"""Encoding a table: fitted on training rows of all clients, the same for every row and for rows
that come later.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.public import Public
from fedkin.data.sources import load
from fedkin.data.tables.encoding import Encoding, fit, from_plain


def table(tmp_path: Path, content: str, **options: Any) -> tuple[Encoding, Any, list[str]]:
    """The encoding fitted on all rows but the last, and all rows encoded."""
    path = tmp_path / "t.csv"
    path.write_text(content)
    source = load(str(path), **options)
    assert source.columns is not None
    found = fit(source.columns, source.x, np.arange(len(source.x) - 1))
    return found, found.encode(source.x, source.columns.columns), found.outputs


def test_numbers_are_standardised_and_missing_ones_are_flagged(tmp_path: Path) -> None:
    text = "a,b,label\n1,5,0\n3,5,0\n,5,1\n,9,1\n"
    _, x, names = table(tmp_path, text)
    assert names == ["a", "a is missing", "b"]
    np.testing.assert_allclose(
        x, [[-1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 4]]
    )  # b is constant: only shifted
    _, x, _ = table(tmp_path, text, scale="none")
    np.testing.assert_allclose(x, [[1, 0, 5], [3, 0, 5], [2, 1, 5], [2, 1, 9]])


def test_a_category_is_one_output_a_value(tmp_path: Path) -> None:
    text = "c,label\nred,0\nblue,0\nred,1\ngreen,1\n"
    _, x, names = table(tmp_path, text)
    assert names == ["c = blue", "c = red"]
    assert x.tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]  # green was not seen in training
    _, x, names = table(tmp_path, text, most=1)
    assert names == ["c = red", "c is another"]
    assert x.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    text = "c,d,label\n1,0,0\n,0,0\n2,0,1\n1,0,1\n"
    _, x, names = table(tmp_path, text, categorical=["c"], drop=["d"])
    assert names == ["c = 1", "c = 2", "c is missing"]
    assert x.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_a_text_is_a_bag_of_words(tmp_path: Path) -> None:
    text = "t,label\nOld old house,0\nold garden,1\n,0\nnew house,1\n"
    _, x, names = table(tmp_path, text, text=["t"], most=2)
    assert names == ["t has garden", "t has old"]
    np.testing.assert_allclose(
        x, [[0, np.log(3)], [np.log(2), np.log(2)], [0, 0], [0, 0]], rtol=1e-6
    )


def test_it_survives_json(tmp_path: Path) -> None:
    found, _, _ = table(tmp_path, "a,c,t,label\n1,x,u v,0\n,y,w,1\n2,x,w,1\n", text=["t"])
    assert from_plain(found.plain()) == found


def clinics(tmp_path: Path, last: str = "50") -> Population:
    rows = [f"{'abc'[i % 3]},{i * 7 % 11},{'xyz'[i // 3 % 2]},{i % 2}" for i in range(60)]
    at = build(load(write(tmp_path, rows), client="site"), "natural", None, Key(0)).test[0][0]
    rows[at] = f"a,{last},new,{rows[at][-1]}"
    return build(load(write(tmp_path, rows), client="site"), "natural", None, Key(0))


def write(tmp_path: Path, rows: list[str]) -> str:
    (tmp_path / "t.csv").write_text("\n".join(["site,a,c,label", *rows]))
    return str(tmp_path / "t.csv")


def test_test_rows_have_no_say(tmp_path: Path) -> None:
    one, other = clinics(tmp_path, "50"), clinics(tmp_path, "9000")
    assert one.encoding is not None
    assert one.encoding == other.encoding
    assert one.encoding.outputs == ["a", "c = x", "c = y"]
    train = np.concatenate(one.train)
    np.testing.assert_array_equal(one.x[train], other.x[train])
    np.testing.assert_allclose(one.x[train, 0].mean(), 0, atol=1e-6)
    assert one.digest() != other.digest()


def test_it_goes_with_the_population(tmp_path: Path) -> None:
    one = clinics(tmp_path)
    one.save(tmp_path / "saved")
    again = Population.load(tmp_path / "saved")
    assert again.encoding == one.encoding
    assert again.digest() == one.digest()


def test_a_public_table_is_encoded_as_the_private_one(tmp_path: Path) -> None:
    source = load(
        write(tmp_path, [f"{'abc'[i % 3]},{i},{'xy'[i % 2]},{i % 2}" for i in range(60)]),
        client="site",
    )
    (tmp_path / "public.csv").write_text("a,c,label\n5,y,0\n6,x,1\n7,w,0\n8,w,0\n")
    other = load(str(tmp_path / "public.csv"))
    population = build(source, "natural", None, Key(0), public=Public(4, other))
    assert population.public is not None
    assert population.public[:, 1:].tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]
    (tmp_path / "public.csv").write_text("a,d,label\n5,y,0\n6,x,1\n")
    with pytest.raises(FedkinError, match="is in one of them only"):
        build(source, "natural", None, Key(0), public=Public(2, load(str(tmp_path / "public.csv"))))
