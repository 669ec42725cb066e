"""Layers import downward only; files stay small; no method asks for another's name."""

import ast
from pathlib import Path

import pytest

import fedkin

PACKAGE = Path(fedkin.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LAYERS = {
    "core": 0,
    "data": 1,
    "models": 1,
    "methods": 1,
    "runs": 1,
    "engine": 2,
    "comparators": 2,
    "certificates": 2,
    "assemble": 3,
    "architectures": 3,
    "populate": 3,
    "facts": 3,
    "experiment": 3,
    "machine": 3,
    "snapshot": 3,
    "needs": 3,
    "newcomers": 3,
    "join": 3,
    "handover": 3,
    "report": 3,
    "api": 4,
    "worker": 4,
    "__main__": 5,
    "flower": 4,
    "reproduce": 4,
    "doctor": 4,
    "sweep": 4,
    "track": 4,
    "cli_track": 4,
    "cli_sweep": 4,
    "cli_doctor": 4,
    "cli_reproduce": 4,
    "cli": 4,
    "cli_certificates": 4,
    "cli_choosing": 4,
    "cli_closing": 4,
    "cli_data": 4,
    "cli_deploy": 4,
    "cli_handover": 4,
    "cli_join": 4,
    "cli_json": 4,
    "cli_lists": 4,
    "cli_options": 4,
    "cli_progress": 4,
    "cli_reading": 4,
}
UPPER = (
    "architectures",
    "assemble",
    "populate",
    "facts",
    "experiment",
    "machine",
    "snapshot",
    "needs",
    "newcomers",
    "join",
    "handover",
    "api",
    "worker",
)  # among equals
MODULE_LEVEL = {"__init__"}  # the package's own face, which looks everything up lazily
LONG: dict[str, str] = {}  # file → why it may have more than 300 lines
LINES = 300
THIRD_PARTY = {  # where a part that is bought may be used
    "torch": {"core", "data", "models", "methods", "comparators", "engine", "assemble", "facts", "experiment", "worker"}
    | {"track", "doctor", "api", "flower", "handover", "reproduce"},
    "sqlite3": {"runs", "cli"},
    "pydantic": {"runs", "data", "methods", "flower"},
    "typer": {"cli"},
    "altair": {"report"},
    "sklearn": {"core", "data", "methods"},
    "statsmodels": {"comparators"},
    "ray": {"engine"},
    "h5py": {"data"},
    "subprocess": {"engine", "flower"},
    "multiprocessing": {"engine", "flower"},
    "flwr": {"flower"},
    "cryptography": {"flower"},
    "onnxruntime": {"handover"},
    "onnxscript": {"handover"},
    "PIL": {"data"},
    "datasets": {"data"},
    "pyarrow": {"data"},
}


def part(path: Path) -> str:
    """The layer's part that a file belongs to: a folder, or a module of the package itself."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> set[str]:
    """Full names of the modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def wrong(of: str, path: Path) -> list[str]:
    """The imports of fedkin by a file of part ``of`` that do not go downward."""
    own = [name.split(".") for name in imports(path) if name.split(".")[0] == "fedkin"]
    targets = {parts[1]: ".".join(parts) for parts in own if len(parts) > 1 and parts[1] in LAYERS}
    return [whole for target, whole in targets.items() if target != of and LAYERS[target] >= _limit(of, target)]


def _limit(of: str, target: str) -> int:
    upper = of in UPPER or of.startswith("cli")
    return LAYERS[of] + (1 if upper and LAYERS[target] == LAYERS[of] else 0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward(path):
    of = part(path)
    if of in MODULE_LEVEL:
        return
    assert of in LAYERS, f"{path.name}: say in this test which layer it belongs to"
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
        ("engine", "from fedkin import assemble"),
        ("report", "from fedkin.experiment.run import load"),
        ("experiment", "from fedkin.cli.app import main"),
    ]:
        path = tmp_path / "planted.py"
        path.write_text(line)
        assert wrong(of, path), (of, line)


@pytest.mark.parametrize(("package", "users"), THIRD_PARTY.items())
def test_bought_parts_have_their_place(package, users):
    found = {part(path) for path in FILES if package in {name.split(".")[0] for name in imports(path)}}
    assert {name.split("_")[0] for name in found} <= users


def test_files_are_short():
    long = {str(p.relative_to(PACKAGE)): n for p in FILES if (n := len(p.read_text().splitlines())) > LINES}
    assert set(long) == set(LONG), long


def test_no_drawer_for_everything():
    assert [path for path in FILES if path.stem in ("utils", "util", "helpers", "misc", "common")] == []


def test_nothing_asks_for_a_methods_name():
    from fedkin.methods import ALIASES, METHODS

    names = {*METHODS, *ALIASES}
    for path in FILES:
        if part(path) == "report":  # its readers may: "local" is what every personal method is held against
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                assert not asks(node, names), f"{path}:{node.lineno} asks which method it is"


def asks(node: ast.Compare, names: set[str]) -> bool:
    """Whether a comparison is of a method's name: ``method.name == …``, ``name in ("comet", …)``."""
    texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    sides = [ast.unparse(side) for side in [node.left, *node.comparators]]
    if any(side.endswith("method.name") for side in sides):  # of two runs it may be asked whether they are the same
        return not all(side.endswith("method.name") for side in sides)
    return bool(texts & names) and any("method" in side or side.split(".")[-1] == "name" for side in sides)


def test_the_test_sees_such_a_question():
    for text in ("method.name == 'x'", "self.method.name in NAMES", "name in ('comet', 'local')", "method != 'ppfl'"):
        assert asks(ast.parse(text, mode="eval").body, {"comet", "ppfl"}), text
    assert not asks(ast.parse("split.holdout == 'comet'", mode="eval").body, {"comet"})


@pytest.mark.parametrize("path", sorted(PACKAGE.joinpath("methods").glob("*.py")), ids=lambda path: path.stem)
def test_methods_know_nothing_of_engines(path):
    text = path.read_text()
    for word in (".detach(", ".cuda(", ".to(device", "inprocess", "processes", "Runtime", "torch.no_grad"):
        assert word not in text, word
