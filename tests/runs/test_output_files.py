"""What a user names as a file to be written: written whole, through links, and never in place of
what is no page.
"""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.runs.output_files import make_folder, no_empty_folder, write_outside
from tests.cli.command import fedkin, told
from tests.report.records_for_tests import write


@pytest.mark.rotating
def test_the_name_of_a_folder_may_be_no_text(tmp_path: Path) -> None:
    """Linux takes any bytes; a page says them as Python does, and none is lost. In a process of
    its own: what pytest keeps of a log has to be text.
    """
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/run\xff"))
    try:
        odd.mkdir()
    except OSError:
        pytest.skip("this system takes no such name")
    write(odd)
    page, table = tmp_path / "page.html", tmp_path / "t.md"
    for words in (["report", odd], ["compare", odd, "--html", page, "--markdown", table]):
        command = [sys.executable, "-m", "fedkin", *map(os.fsencode, words)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, ascii(done.stderr)
    for one in (page, odd / "report.html"):
        assert "run\\udcff" in one.read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["there", "not there"])
def test_a_link_stays_one_and_what_it_points_at_is_written(target: str, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "there").write_text("old")
    (tmp_path / "link").symlink_to(Path("far") / target)
    (tmp_path / "second").symlink_to(tmp_path / "link")
    for name in ("link", "second"):
        write_file(tmp_path / name, name.encode())
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "far" / target).read_text() == name
    assert {path.name for path in tmp_path.rglob("*")} == {"far", "there", target, "link", "second"}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no asking whether a process lives")
def test_what_a_killed_process_left_of_a_page_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    left = tmp_path / f"page.md.{gone.pid}.part"
    left.touch()
    os.utime(left, (0, 0))
    write_outside(tmp_path / "page.md", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name, why in (
        ("pipe", "a device or a pipe"),
        ("folder", "a folder"),
        ("circle", "symbolic links"),
    ):
        with pytest.raises(OSError, match=why) as caught:
            write_file(tmp_path / name, b"new")
        assert caught.value.filename == str(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("option", ["--markdown", "--html"])
def test_compare_writes_pages_only(option: str, tmp_path: Path) -> None:
    run, page = write(tmp_path / "run"), tmp_path / "page"
    page.write_text("old")
    (tmp_path / "link").symlink_to(page)
    assert fedkin("compare", run, option, tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert "comet" in page.read_text()
    (tmp_path / "record").symlink_to(run / "run.db")
    before = (run / "run.db").read_bytes()
    for name in (run / "run.db", tmp_path / "record"):
        assert re.search(
            f"{name} cannot be written: it is a file of .*run itself",
            told("compare", run, option, name),
        )
    assert (run / "run.db").read_bytes() == before
    assert "it is a device or a pipe" in told("compare", run, option, "/dev/null")
    assert "it is a folder" in told("compare", run, option, tmp_path)
    assert "No such file or directory" in told("compare", run, option, tmp_path / "none" / "page")


def test_a_runs_own_files_stay_and_pages_in_its_folder_are_renewed(tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    own = [
        run / name
        for name in ("experiment.toml", "asked.json", "joined/a/join.json", "export/a/model.onnx")
    ]
    for path in own:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("own")
    (tmp_path / "study.db").write_text("")
    for path in [*own, run / "checkpoint" / "new.md", tmp_path / "study.db"]:
        with pytest.raises(FedkinError, match="choose another name"):
            write_outside(path, "page")
    assert {path.read_text() for path in own} == {"own"}
    for _ in range(2):
        for name in ("pages.md", "report.html", "joined/a/predictions.csv", "notes"):
            assert write_outside(run / name, name).read_text() == name
    (tmp_path / "experiment.toml").write_text("a user's")  # beside runs, not of one
    (tmp_path / "study.db").unlink()
    assert write_outside(tmp_path / "experiment.toml", "new").read_text() == "new"


def test_the_file_that_the_output_goes_to_is_left_to_it(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from fedkin.runs.output_files import write_outside as w; "
        "w(Path('/dev/stdout'), 'x')"
    )
    with open(tmp_path / "log", "w") as log:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=log, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "/dev/stdout cannot be written: the output of this command goes there" in done.stderr
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "it is a device or a pipe" in done.stderr


@pytest.mark.rotating
@pytest.mark.parametrize(
    "command",
    [
        ("data", "check", "own.csv", "--client", "site", "--label", "y", "--fix", "own.csv"),
        ("data", "check", "own.csv", "--client", "site", "--label", "y", "--fix", "other.csv"),
        ("compare", "run", "--html", "own.csv"),
        ("compare", "run", "--markdown", "own.csv"),
        ("predict", "run", "--client", "0", "--data", "own.csv", "--out", "own.csv"),
        ("predict", "run", "--client", "0", "--data", "own.csv", "--out", "./link.csv"),
        ("predict", "run", "--client", "0", "--data", "other.csv", "--out", "own.csv"),
        ("predict", "run", "--client", "0", "--data", "other.csv", "--out", "./link.csv", "--json"),
    ],
)
def test_no_output_takes_the_place_of_a_table(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may have the patients nowhere else."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{site},{k * 0.37 % 1:.2f},{(k + site) % 2}" for site in (0, 1) for k in range(30)]
    text = "\n".join(["site,age,y", *rows])
    for name in ("own.csv", "other.csv"):
        Path(name).write_text(text)
    Path("link.csv").symlink_to("own.csv")
    if command[0] != "data":
        given = ("--data", "own.csv:client=site,label=y", "--out", "run")
        done = fedkin("run", *given, "--method", "local", "--rounds", 1, "--engine", "inprocess")
        assert done.exit_code == 0, done.output
    done = fedkin(*command)
    assert done.exit_code == 2
    assert "choose another name" in done.stderr
    assert (Path("own.csv").read_text(), Path("other.csv").read_text()) == (text, text)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").touch()
    for folder in (tmp_path / "mine.csv", tmp_path / "mine.csv" / "a" / "b"):
        why = f"{folder} cannot be made: {tmp_path / 'mine.csv'} is a file: choose another folder"
        with pytest.raises(FedkinError, match=re.escape(why)):
            make_folder(folder)
    with pytest.raises(FedkinError, match=f"cannot be made: {os.strerror(errno.ENAMETOOLONG)}"):
        make_folder(tmp_path / ("n" * 300))
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")  # it is there
    assert (tmp_path / "a" / "b").is_dir()


def test_work_that_fails_leaves_no_empty_folder(tmp_path: Path) -> None:
    def work(folder: Path, file: str | None, made: bool) -> None:
        with no_empty_folder(folder):
            if made:
                make_folder(folder)
            if file is not None:
                (folder.parent / file).touch()
            raise KeyboardInterrupt

    def fails(folder: Path, file: str | None = None, made: bool = True) -> None:
        with pytest.raises(KeyboardInterrupt):
            work(folder, file, made)

    there = tmp_path / "there"
    there.mkdir()
    for made in (True, False):
        fails(there / "a" / "b", made=made)
    assert list(there.iterdir()) == []
    fails(there)  # it was there before
    fails(tmp_path / "a" / "b", "kept")
    assert there.is_dir()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["kept"]
    with no_empty_folder(tmp_path / "c"):
        make_folder(tmp_path / "c")
    assert (tmp_path / "c").is_dir()


def test_a_file_in_a_folder_that_is_not_there_says_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(
        FedkinError, match=r"cannot be written: No such.*make the folder .*/paper fi"
    ):
        write_outside(tmp_path / "paper" / "table.tex", "x")
    assert not list(tmp_path.iterdir())
