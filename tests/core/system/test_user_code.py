"""Code of somebody's own is imported only if its name was allowed."""

import os
import sys
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import (
    UserCode,
    file_digest,
    find_user_code,
    in_a_file_here,
    of_this_folder,
    user_line,
)


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "mine7.py").write_text("import sys\nsys.modules['seen7'] = sys\nclass Net: pass\n")
    (tmp_path / "broken7.py").write_text("raise RuntimeError('no licence\\nsecond line')\n")
    (tmp_path / "broken8.py").write_text("''.x\n")
    (tmp_path / "exits7.py").write_text("import sys\nsys.exit()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return UserCode("model", "say --trust-code")


def test_a_name_that_nobody_allowed_is_not_imported(code) -> None:
    sys.modules.pop("seen7", None)
    code.allow(["mine7:Other"])
    with pytest.raises(FedkinError, match=r"model 'mine7:Net' is code of one's own.*: say --trust"):
        code.imported("mine7:Net")
    assert "seen7" not in sys.modules
    code.allow(["mine7:Net"])
    assert code.imported("mine7:Net").__name__ == "Net"
    assert UserCode("model", "")._allowed == set()  # one reader's leave is not another's


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mine7:Nothing", "mine7 has no 'Nothing'$"),
        ("mine7:Nett", "mine7 has no 'Nett': did you mean 'Net'\\?$"),
        ("broken8:Net", "AttributeError: 'str' object has no attribute 'x' \\(broken8.py, line 1"),
        ("exits7:Net", "Exited: sys.exit\\(\\) would end fedkin \\(exits7.py, line 2\\)$"),
        (
            "gone7:Net",
            "ModuleNotFoundError: No module named 'gone7': .* in the folder of gone7.py$",
        ),
        ("broken7:Net", "RuntimeError: no licence \\(broken7.py, line 1\\)$"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(code, name, why) -> None:
    code.allow([name])
    with pytest.raises(FedkinError, match=f"^model '{name}' cannot be imported: {why}"):
        code.imported(name)


def test_a_misspelt_module_is_likened_to_the_files_of_this_folder(
    code, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code.allow(["mine77:Net"])
    with pytest.raises(FedkinError, match=r"No module named 'mine77': did you mean 'mine7'\?$"):
        code.imported("mine77:Net")


def test_what_has_no_file_has_no_digest() -> None:
    scope: dict[str, Any] = {}
    exec("def typed(): pass", scope)
    assert file_digest(scope["typed"]) == file_digest(len) == file_digest(int) == ""
    assert len(file_digest(UserCode)) == 12


def test_the_folder_of_the_command_is_looked_in_last(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", ["first", "second"])
    monkeypatch.chdir(tmp_path)
    find_user_code()
    find_user_code()
    assert sys.path == ["first", "second", os.getcwd()]


@pytest.mark.parametrize(
    ("typed", "stands_for"),
    [
        ("net.py:Net:width=8", "net:Net:width=8"),
        ("./net.py:Net", "net:Net"),
        (r".\net.py:Net", "net:Net"),
        ("there/net.py:Net", "there.net:Net"),
        (r"there\net.py:Net:width=8", "there.net:Net:width=8"),
        ("mlp:hidden=a/b", "mlp:hidden=a/b"),
        ("a/b", "a/b"),
        (".py", ".py"),
        ("/:Net", "/:Net"),
        ("", ""),
    ],
)
def test_a_file_of_this_folder_is_its_module(typed, stands_for) -> None:
    assert of_this_folder(typed) == stands_for


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("net.py", "write net:NAME"),
        ("net.py:", "write net:NAME"),
        ("there/net.py", "write there.net:NAME"),
        ("there/net:Net", "write there.net:Net"),
        ("/there/net.py:Net", "in the folder of that file write net:Net"),
        ("../net.py:Net", "in the folder of that file write net:Net"),
        (r"C:\there\net.py:Net", "in the folder of that file write net:Net"),
        ("my-net.py:Net", "write my_net:Net, and call the file my_net.py"),
        ("2/net.py:Net", "write _2.net:Net, and call the file _2/net.py"),
    ],
)
def test_a_path_that_is_no_module_gets_the_nearest_name(typed: str, nearest: str) -> None:
    with pytest.raises(FedkinError) as told:
        of_this_folder(typed)
    assert str(told.value) == (
        f"{typed!r} names no module: a module's name has dots in place of slashes, and no .py: "
        f"{nearest}"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def blend(): pass\n", "write mix7:blend for the function of your file mix7.py"),
        (
            "def _own(): pass\n\n\ndef a():\n    def inner(): pass\n\n\ndef b(): pass\n",
            "write mix7:a or mix7:b for a function of your file mix7.py",
        ),
        ("exit(1)\n", "write mix7:FUNCTION for the function of your file mix7.py"),
    ],
)
def test_a_file_of_this_folder_is_offered_by_its_functions(
    content, said, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix7.py").write_text(content)
    (tmp_path / "dir7.py").mkdir()
    assert in_a_file_here("mix7") == said
    assert in_a_file_here("dir7") == in_a_file_here("gone7") == in_a_file_here("../mix7") == ""


def test_a_line_of_torch_is_nobodys_own() -> None:
    namespace: dict[str, Any] = {}
    exec("import torch\ndef fail(): torch.nn.Linear(3, 2)(torch.zeros(2, 4))", namespace)
    with pytest.raises(RuntimeError) as told:
        namespace["fail"]()
    error = told.value
    frames = error.__traceback__
    assert frames is not None
    assert user_line(error.with_traceback(frames.tb_next)) == ""  # of this file there is no frame
