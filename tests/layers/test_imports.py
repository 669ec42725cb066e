"""Folders import downward only, without circles; files stay short; no method asks for another's
name.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import fedkin

PACKAGE = Path(fedkin.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
# A folder, or a file at the package's root, imports what has a lower rank, and its own folder
RANKS = {
    "core": 0,
    "runtime": 1,
    "masks": 1,
    "transforms": 2,
    "methods": 3,
    "data": 3,
    "runs": 3,
    "models": 3,
    "certificates": 4,
    "engine": 5,
    "baselines": 5,
    "report": 5,
    "tracking": 6,
    "setup": 6,
    "theory": 7,
    "newcomers": 7,
    "experiment": 8,
    "export": 8,
    "audit": 9,
    "doctor": 9,
    "sweep": 9,
    "reproduce": 9,
    "flower": 9,
    "bench": 10,
    "api": 10,
    "cli": 11,
    "__main__": 12,
}
MODULE_LEVEL = {"__init__"}  # the package's own face, which looks everything up lazily
AT_THE_ROOT = {"__init__.py", "__main__.py"}
WIDEST = 20  # files of a folder, but of methods/, which has one a method
LONG: dict[str, str] = {}  # file → why it may have more than 300 lines
LINES = 300  # without docstrings
WIDTH = 100  # characters of a line
THIRD_PARTY = {  # where a part that is bought may be used
    "torch": {
        "audit",
        "core",
        "runtime",
        "transforms",
        "data",
        "models",
        "methods",
        "baselines",
        "engine",
        "setup",
    }
    | {
        "experiment",
        "newcomers",
        "tracking",
        "doctor",
        "api",
        "flower",
        "export",
        "reproduce",
        "theory",
        "bench",
    },
    "sqlite3": {"runs", "cli"},
    "pydantic": {"core", "runs", "data", "transforms", "flower", "bench"},
    "typer": {"cli"},
    "altair": {"report", "reproduce", "bench"},
    "sklearn": {"core", "data", "methods", "reproduce", "theory"},
    "statsmodels": {"baselines"},
    "dp_accounting": {"setup"},
    "ray": {"engine"},
    "h5py": {"data"},
    "subprocess": {"engine", "flower", "bench"},
    "multiprocessing": {"engine", "flower", "bench"},
    "flwr": {"flower"},
    "cryptography": {"core", "flower", "masks"},
    "onnxruntime": {"export"},
    "onnxscript": {"export"},
    "PIL": {"data"},
    "datasets": {"data"},
    "pyarrow": {"data"},
}


def part(path: Path) -> str:
    """The layer's part that a file belongs to: a folder, or a module of the package itself."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> frozenset[str]:
    """Full names of the modules that a file imports, wherever in the file."""
    return imported(path, path.read_text())


@cache  # each test asks all files
def imported(path: Path, text: str) -> frozenset[str]:
    """Full names of the modules that a file with a text imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def wrong(of: str, path: Path) -> list[str]:
    """The imports of fedkin by a file of part ``of`` that do not go downward."""
    own = [name.split(".") for name in imports(path) if name.split(".")[0] == "fedkin"]
    targets = {parts[1]: ".".join(parts) for parts in own if len(parts) > 1 and parts[1] in RANKS}
    return [
        whole for target, whole in targets.items() if target != of and RANKS[target] >= RANKS[of]
    ]


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = ("fedkin", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def circles(used: dict[str, set[str]]) -> list[str]:
    """Modules that import themselves, by way of others. ``used``: what each module imports."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(used[start])
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += used.get(at, ())
        return seen

    return sorted(name for name in used if name in reached(name))


def test_no_file_imports_itself_by_way_of_others():
    modules = {module_of(path): path for path in FILES}
    used: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = imports(path)
        used[name] = {
            whole if whole in modules else whole.rpartition(".")[0] for whole in found
        } & set(modules)
    assert circles(used) == []


def test_the_test_sees_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


def test_the_root_is_no_hallway():
    assert {path.name for path in PACKAGE.glob("*.py")} <= AT_THE_ROOT
    wide = {
        folder.name: len(list(folder.glob("*.py")))
        for folder in PACKAGE.rglob("*")
        if folder.is_dir()
    }
    assert {
        name: files for name, files in wide.items() if files > WIDEST and name != "methods"
    } == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward(path):
    of = part(path)
    if of in MODULE_LEVEL:
        return
    assert of in RANKS, f"{path.name}: say in this test which layer it belongs to"
    assert wrong(of, path) == []


def test_reports_come_from_records_only():
    for path in PACKAGE.joinpath("report").rglob("*.py"):
        used = {name.split(".")[1] for name in imports(path) if name.startswith("fedkin.")}
        assert used <= {"core", "runs", "report", "__version__"}, path


def test_the_test_sees_an_upward_import(tmp_path):
    for of, line in [
        ("core", "from fedkin.engine.codec import encode"),
        ("core", "def f():\n    import fedkin.runs.spec"),
        ("models", "from fedkin.data.arrays import Source"),
        ("methods", "from fedkin.runs import spec"),
        ("engine", "from fedkin.experiment.run import run"),
        ("engine", "from fedkin.setup import build"),
        ("report", "from fedkin.setup.loaded_run import load"),
        ("experiment", "from fedkin.cli.app import main"),
    ]:
        path = tmp_path / "planted.py"
        path.write_text(line)
        assert wrong(of, path), (of, line)


@pytest.mark.parametrize(("package", "users"), THIRD_PARTY.items())
def test_bought_parts_have_their_place(package, users):
    found = {
        part(path) for path in FILES if package in {name.split(".")[0] for name in imports(path)}
    }
    assert found <= users


def lines_of(path: Path) -> int:
    """The lines of a file without its docstrings, which say what its code does not."""
    text = path.read_text()
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    told = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node):
            told += (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    return len(text.splitlines()) - told


def test_files_are_short():
    long = {str(p.relative_to(PACKAGE)): n for p in FILES if (n := lines_of(p)) > LINES}
    assert set(long) == set(LONG), long


def test_no_drawer_for_everything():
    assert [
        path for path in FILES if path.stem in ("utils", "util", "helpers", "misc", "common")
    ] == []


def test_nothing_asks_for_a_methods_name():
    from fedkin.methods import ALIASES, METHODS

    names = {*METHODS, *ALIASES}
    for path in FILES:
        if (
            part(path) == "report"
        ):  # its readers may: "local" is what every personal method is held against
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                assert not asks(node, names), f"{path}:{node.lineno} asks which method it is"


def asks(node: ast.Compare, names: set[str]) -> bool:
    """Whether a comparison is of a method's name: ``method.name == …``, ``name in
    ("comet", …)``.
    """
    texts = {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
    sides = [ast.unparse(side) for side in [node.left, *node.comparators]]
    if any(
        side.endswith("method.name") for side in sides
    ):  # of two runs it may be asked whether they are the same
        return not all(side.endswith("method.name") for side in sides)
    return bool(texts & names) and any(
        "method" in side or side.split(".")[-1] == "name" for side in sides
    )


def test_the_test_sees_such_a_question():
    for text in (
        "method.name == 'x'",
        "self.method.name in NAMES",
        "name in ('comet', 'local')",
        "method != 'ppfl'",
    ):
        assert asks(ast.parse(text, mode="eval").body, {"comet", "ppfl"}), text
    assert not asks(ast.parse("split.holdout == 'comet'", mode="eval").body, {"comet"})


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.joinpath("methods").glob("*.py")), ids=lambda path: path.stem
)
def test_methods_know_nothing_of_engines(path):
    text = path.read_text()
    for word in (
        ".detach(",
        ".cuda(",
        ".to(device",
        "inprocess",
        "processes",
        "torch.no_grad",
    ):
        assert word not in text, word
    assert not re.search(r"\bRuntime\b", text), "Runtime"


def wide(text: str) -> list[int]:
    """The numbers of the lines of more than 100 characters; ruff passes over those that end in a
    pragma or have no space.
    """
    return [n for n, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]


def test_no_line_is_over_100_characters():
    found = {str(p.relative_to(PACKAGE)): n for p in FILES if (n := wide(p.read_text("utf-8")))}
    assert found == {}


def test_the_test_sees_a_long_line():
    assert wide("x" * 100 + "\n" + "x" * 101 + "  # noqa") == [2]
