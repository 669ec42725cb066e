"""A node's file that is replaced while its host goes on."""

import os
import shutil

import pytest

from fedkin.flower.envelope import Place
from fedkin.flower.node import held_data
from tests.engine.small import small
from tests.flower.node.host_examples import ask, made, request

SPEC = small("fedavg", run__clients=4, data__label="sort")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "d.csv"
    write(path, 9)
    return path


@pytest.fixture
def reads(monkeypatch):
    seen, real = [], held_data.data.read
    monkeypatch.setattr(held_data.data, "read", lambda *told: [seen.append(1), real(*told)][1])
    return seen


def write(path, rows):
    parts = ["train"] * (rows - 2) + ["val", "test"]
    lines = [f"{k}.5,{k % 3},{part}" for k, part in enumerate(parts)]
    other = path.with_suffix(".part")
    other.write_text("\n".join(["age,sort,split", *lines]))
    other.replace(path)


def facts_of(node):
    return ask(node, request(SPEC, steps=()))[0].facts


def work(node, facts):
    place = Place(client=1, clients=4, classes=3, architecture="mlr", data=facts.digest)
    return ask(node, request(SPEC, place=place))[0]


def test_the_next_run_has_the_new_data_and_this_one_refuses_them(table, tmp_path, reads):
    node = made(tmp_path, SPEC, data="d.csv")
    first = facts_of(node)
    assert (first.train, work(node, first).error) == (7, None)
    kept = shutil.copy2(table, tmp_path / "kept.csv")
    write(table, 12)
    said = "its data are not those that it joined the run with: put them back, or begin another run"
    assert work(node, first).error == said
    second = facts_of(node)
    assert second.train == 10
    assert second.digest != first.digest
    os.replace(kept, table)
    assert work(node, first).error is None
    assert len(reads) == 3


def test_the_same_file_written_again_changes_nothing(table, tmp_path, reads):
    node = made(tmp_path, SPEC, data="d.csv")
    first = facts_of(node)
    work(node, first)
    host = node._host[2]
    write(table, 9)
    assert work(node, first).error is None
    assert node._host[2] is host
    assert len(reads) == 2
    facts_of(node)
    assert len(reads) == 2


@pytest.mark.parametrize("change", ["time", "size", "file"])
def test_a_file_is_another_by_its_time_its_size_or_its_place(change, table, tmp_path, reads):
    node = made(tmp_path, SPEC, data="d.csv")
    facts_of(node)
    before = table.stat()
    if change == "time":
        os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    elif change == "size":
        table.write_text(table.read_text().replace("0.5", "0.75"))
        os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        (tmp_path / "held.csv").hardlink_to(table)  # so that its inode is not given again
        write(table, 9)
        os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    facts_of(node)
    assert len(reads) == 2


def test_a_file_that_is_gone_is_said(table, tmp_path):
    node = made(tmp_path, SPEC, data="d.csv")
    first = facts_of(node)
    table.unlink()
    assert "d.csv" in work(node, first).error
