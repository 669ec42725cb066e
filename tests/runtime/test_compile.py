"""Compiled once a machine: the second process loads a file, and never one that is not as it was
written.
"""

import getpass
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from fedkin.core.model import from_module
from fedkin.runtime import compile
from fedkin.runtime.compile import compiled, named
from fedkin.runtime.replay import Runtime, _recorded
from tests.runtime.compile_examples import never
from tests.runtime.test_replay import over

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("g++") or shutil.which("c++")), reason="compiling needs a C++ compiler"
    ),
    pytest.mark.skipif(
        " " in torch.__file__, reason="torch cannot compile in a folder whose path has a blank"
    ),
]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fedkin" / "steps"


def graph(factor=2.0, rows=3):
    return _recorded(lambda x: (x * torch.tensor([factor, 1.0]),), [torch.ones(rows, 2)])


@pytest.mark.rotating
def test_a_second_process_compiles_nothing(cache):
    """Not even what compiles is imported there."""
    torch.manual_seed(0)
    model = from_module("linear", nn.Linear(5, 3))
    expected = over(Runtime("always"), model, 3)
    script = """
import sys
import torch
from fedkin.core.model import from_module
from fedkin.core.system.private import private_folder, state_folder
from fedkin.runtime.replay import Runtime
from tests.runtime.test_replay import over
torch.manual_seed(0)
found = over(Runtime("always"), from_module("linear", torch.nn.Linear(5, 3)), 3)
print(found["weight"].sum().item(), "torch._inductor.compile_fx" in sys.modules)
"""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=here, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(expected["weight"].sum().item()), "False"]
    assert len(list(cache.glob("*.so"))) == 1


@pytest.mark.slow
def test_a_damaged_file_is_made_again(cache):
    one, x = graph(), torch.ones(3, 2)
    compiled(named(one), lambda: one, [x])
    (file,) = cache.glob("*.so")
    whole = file.read_bytes()
    file.unlink()  # its pages are this process's: a file of the same name is another one
    file.write_bytes(whole[:4000] + b"?" + whole[4001:])
    assert compiled(named(one), lambda: one, [x])(x)[0].tolist() == [[2.0, 1.0]] * 3
    assert [path.read_bytes() == whole for path in cache.glob("*.so")] == [True]
    assert compiled(named(one), never, [x])(x)[0].tolist() == [[2.0, 1.0]] * 3


def test_names_tell_apart_what_is_compiled(monkeypatch):
    assert named(graph()) == named(graph())
    names = {named(graph()), named(graph(3.0)), named(graph(rows=4)), named(graph(), 8)}
    monkeypatch.setattr(compile, "_maker", lambda: ("another torch",))
    assert len({*names, named(graph())}) == 5


@pytest.mark.parametrize("maker", ["compile.py", "fuse.py", "replay.py", "small_matmul.cpp"])
def test_other_makers_make_other_code(maker, tmp_path, monkeypatch):
    for name in compile.MAKERS:
        shutil.copy(Path(compile.__file__).with_name(name), tmp_path)
    before = compile._maker()
    monkeypatch.setattr(compile, "__file__", str(tmp_path / "compile.py"))
    assert compile._maker.__wrapped__() == before
    with (tmp_path / maker).open("a") as file:
        file.write("\n")
    assert compile._maker.__wrapped__() != before


@pytest.mark.slow
def test_a_folder_that_nothing_may_be_run_from(cache, monkeypatch):
    loaded = compile._loaded

    def forbidding(path):
        if path.parent == cache:
            raise RuntimeError("failed to map segment from shared object: Operation not permitted")
        return loaded(path)

    monkeypatch.setattr(compile, "_loaded", forbidding)
    one, x = graph(), torch.ones(3, 2)
    assert compiled(named(one), lambda: one, [x])(x)[0].tolist() == [[2.0, 1.0]] * 3


@pytest.mark.slow
def test_nothing_in_a_shared_temporary_folder_is_run(cache, tmp_path):
    """Inductor's own choice is a folder whose name everybody knows: what lay there before us was
    loaded.
    """
    shared = tmp_path / "shared"
    planted = shared / f"torchinductor_{getpass.getuser()}"
    planted.mkdir(parents=True)
    shared.chmod(0o1777)
    script = """
import torch
from fedkin.runtime.compile import compiled, named
from fedkin.runtime.replay import _recorded
one = _recorded(lambda x: (x * 2.0,), [torch.ones(3, 2)])
print(compiled(named(one), lambda: one, [torch.ones(3, 2)])(torch.ones(3, 2))[0].tolist()[0])
"""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(shared)}
    here.pop("TORCHINDUCTOR_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", script], env=here, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[2.0, 2.0]"
    assert list(planted.iterdir()) == []
    assert stat.S_IMODE((cache.parent / "inductor").stat().st_mode) == 0o700
