"""Every code block of the documents runs: commands are typed, Python is executed, TOML is read.

Pages of docs/howto and the tutorials that are commands have tests of their own (tests/howto,
tests/tutorials). code_blocks.toml says what is typed shorter, and what is not typed and why.
"""

import argparse
import os
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pytest
from PIL import Image

from fedkin.flower.table.columns_file import ColumnsFile
from fedkin.runs.spec import Spec, parse
from tests.bench.tiny import tiny
from tests.cli.command import fedkin
from tests.cli.test_own_data import write_pfllib
from tests.data.official_layouts import write_har, write_leaf_femnist, write_leaf_shakespeare
from tests.export.clinics import write_clinics
from website.staging import ROOT

TABLE = tomllib.loads((Path(__file__).parent / "code_blocks.toml").read_text(encoding="utf-8"))
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
TESTED = ("howto", "tutorials")  # folders whose pages have tests of their own
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path.parent.name not in TESTED and BLOCK.search(path.read_text(encoding="utf-8"))
]
OTHER_TOML = ("data_dir", "project", "title")  # a settings file, a package, a suite
NETS = """
from torch import nn


class Net(nn.Sequential):
    def __init__(self, shape, classes):
        size = 1
        for one in shape:
            size *= one
        super().__init__(nn.Flatten(), nn.Linear(size, classes))
"""
HALFWAY = """
from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg


def halfway(*, lr: float, mix: float = 0.5) -> Method:
    return fedavg(lr=mix * lr)
"""


def write_node(path: Path) -> None:
    """The table of a node of a deployment."""
    rows = [
        f"{40 + k % 37},{20 + k % 11},{k % 4},{k % 2},{('train', 'val', 'test')[k % 3]}"
        for k in range(90)
    ]
    path.write_text("\n".join(["age,bmi,visits,readmitted,split", *rows]) + "\n")


def write_raw(folder: Path) -> None:
    """What a node's files are made from: a table of patients, and images in a folder a class."""
    rows = [
        f"{k // 2},{40 + k},27,{('heart', 'lung')[k % 2]},{('home', 'readmitted')[k % 3 % 2]}"
        for k in range(60)
    ]
    (folder / "raw.csv").write_text("\n".join(["patient,age,bmi,ward,outcome", *rows]) + "\n")
    for number, name in enumerate(("healthy", "ill")):
        (folder / "raw" / name).mkdir(parents=True)
        for k in range(10):
            Image.new("RGB", (70, 80), 100 * number).save(folder / "raw" / name / f"{k}.png")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the documents' commands name, and two finished runs on them."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text = write_clinics(folder / "patients.csv", clinics=8).read_text()
        head, *rows = text.splitlines()
        head += ",died,days"
        more = [
            f"{row},{'yes' if 'readmitted' in row else 'no'},{n % 9 + 0.5}"
            for n, row in enumerate(rows)
        ]
        Path("patients.csv").write_text("\n".join([head, *more]) + "\n")
        for name in ("table.csv", "pub.csv", "new.csv"):
            shutil.copy("patients.csv", name)
        Path("mine.csv").write_text("\n".join([head, *more[:24]]) + "\n")
        write_node(Path("data.csv"))
        write_raw(folder)
        Path("my_package").mkdir()
        Path("my_package/nets.py").write_text(NETS)
        Path("my_package/methods.py").write_text(HALFWAY)
        Path("experiment.toml").write_text('[data]\nname = "digits"\n[method]\nname = "cgpfl"\n')
        shutil.copytree(ROOT / "examples", "examples")
        shutil.copytree(ROOT / "docs" / "reproduction", "docs/reproduction")
        shutil.copytree(ROOT / "docs" / "leaderboard", "docs/leaderboard")
        Path("bench").mkdir()
        shutil.copy(ROOT / "docs" / "leaderboard" / "small.jsonl", "bench/rows.jsonl")
        write_pfllib(Path("mnist"))
        write_har(Path("UCI HAR Dataset"))
        write_leaf_femnist(Path("leaf/femnist/data"))
        write_leaf_shakespeare(Path("leaf/shakespeare/data"))
        data = "patients.csv:client=hospital,label=outcome"
        for method in ("local", "ditto"):
            typed(f"fedkin run --data {data} --method {method} --out runs/{method}")
    return folder


@pytest.mark.rotating
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_its_blocks_run(
    page: Path, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    shutil.copytree(world, here, symlinks=True)
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))
    space: dict[str, Any] = {"__name__": "page"}
    text = page.read_text(encoding="utf-8")
    if "--out runs/" in text:  # it makes its own
        shutil.rmtree("runs")
    if "mixed_effects(" in text:  # whose columns must not determine each other
        pd.read_csv("patients.csv")[["hospital", "age", "bmi", "days"]].to_csv(
            "patients.csv", index=False
        )
    for _, language, code in BLOCK.findall(text):
        if language == "python":
            executed(code, page.name, space)
        elif language == "toml":
            read(code, page.name)
        elif language == "bash":
            for line in commands(code):
                if line.startswith("fedkin deploy prepare north"):  # the folder was carried there
                    shutil.copytree("site/nodes/north", "north")
                typed(line)
        elif language == "console":
            shown(code, tmp_path)
        else:
            assert language in ("text", "markdown"), (page.name, language)


def commands(code: str) -> Iterator[str]:
    """What is typed: comments go, a line that ends with a backslash goes on."""
    for line in code.replace("\\\n", " ").splitlines():
        if command := re.sub(r"(^|\s)#\s.*$", "", line).strip():
            yield command


def shown(code: str, folder: Path) -> None:
    """A command with what it says, typed in a folder without data."""
    command, said = code.strip().removeprefix("$ ").split("\n", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert fedkin(*shlex.split(command)[1:]).stderr.strip() == said


def typed(command: str) -> None:
    """One command; it must end well, or stand among those that are tested elsewhere."""
    if any(command.startswith(one) for one in TABLE["elsewhere"]):
        return
    words = [TABLE["replaced"].get(word, word) for word in shlex.split(command)]
    if words[0] == "cd":
        os.chdir(words[1])
        return
    while re.fullmatch(r"[A-Z_]+=\S+", words[0]):
        words = words[1:]
    if words[0].endswith("python"):
        arguments(words)
        return
    assert words[0] == "fedkin", command
    if ">" in words:
        words = words[: words.index(">")]
    more = max((one for one in TABLE["shorter"] if command.startswith(one)), key=len, default="")
    added = [] if "--dry-run" in words or "--list" in words else TABLE["shorter"].get(more, [])
    done = fedkin(*words[1:], *added)
    none_finished = "--finished" in (*words, *added) and "not run yet" in done.output
    assert done.exit_code in ({0, 1} if none_finished else {0}), (command, done.output)


class _Understood(Exception):
    """The arguments of a benchmark were parsed; it need not measure."""


def arguments(words: list[str]) -> None:
    """``python -m benchmarks.NAME …``: the module is there and its parser takes the arguments."""
    assert words[1] == "-m", words
    name, *given = words[2:]

    def understood(self: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        parsed(self, given)
        raise _Understood

    parsed = argparse.ArgumentParser.parse_args
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", understood)
        patch.setattr(sys, "argv", [name, *given])
        try:
            runpy.run_module(name, run_name="__main__")
        except _Understood:
            return
    raise AssertionError(f"{words}: it reads no arguments")


def executed(code: str, where: str, space: dict[str, Any]) -> None:
    """A block of Python, after those before it on its page."""
    for words, instead in TABLE["executed"].items():
        code = code.replace(words, instead)
    exec(compile(code, where, "exec"), space)


def read(code: str, where: str) -> None:
    """A block of TOML: sections of an experiment must be such that the parser takes."""
    content = tomllib.loads(code)
    if set(content) <= set(Spec.model_fields):
        parse(content, code, where)
    elif "searches" in content:  # a part of a suite
        tiny(**content)
    elif "columns" in content:
        ColumnsFile.model_validate(content)
        Path("columns.toml").write_text(code)
    else:
        assert content.keys() & set(OTHER_TOML), where


def test_a_command_that_fails_is_found(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    with pytest.raises(AssertionError, match="nosuch"):
        typed("fedkin show nosuch")
    with pytest.raises(SystemExit):
        typed("python -m benchmarks.tree --nosuch")
    with pytest.raises(Exception, match="nosuch"):
        read("[run]\nnosuch = 1\n", "here")


def test_no_command_stands_outside_of_a_block() -> None:
    """Indented lines are no block: nothing would type them."""
    for page in PAGES:
        text = re.sub(r"^( *)```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        assert re.findall(r"^    (?:fedkin|python|from|import) .*$", text, re.MULTILINE) == [], page
