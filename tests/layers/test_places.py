"""The tests of a module stand at tests/FOLDER/test_MODULE.py."""

from pathlib import Path

import fedkin

PACKAGE = Path(fedkin.__file__).parent
TESTS = Path(__file__).parents[1]
LEAST = 95.0  # per cent of the modules: a new one brings its tests


def place(module: Path) -> Path:
    """Where the tests of a module stand, below tests; those of api.py in a folder of its name."""
    folder = module.parent if len(module.parts) > 1 else Path(module.stem)
    return folder / f"test_{module.stem}.py"


def elsewhere(package: Path, tests: Path) -> dict[str, bool]:
    """Module → whether its tests are not at their place; ``__init__`` and ``__main__`` aside."""
    modules = [path.relative_to(package) for path in sorted(package.rglob("*.py"))]
    return {
        module.as_posix(): not (tests / place(module)).is_file()
        for module in modules
        if not module.stem.startswith("__")
    }


def test_most_modules_have_their_tests_where_one_looks() -> None:
    found = elsewhere(PACKAGE, TESTS)
    missing = [module for module, lacks in found.items() if lacks]
    share = 100 * (1 - len(missing) / len(found))
    assert share >= LEAST, f"{share:.1f} % of modules; the others: {', '.join(missing)}"


def test_a_module_without_tests_is_seen(tmp_path: Path) -> None:
    for name in ("src/__init__.py", "src/api.py", "src/a/b.py", "src/a/c.py", "tests/a/test_b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = elsewhere(tmp_path / "src", tmp_path / "tests")
    assert found == {"api.py": True, "a/b.py": False, "a/c.py": True}
    (tmp_path / "tests" / "api").mkdir()
    (tmp_path / "tests" / "api" / "test_api.py").touch()
    assert not elsewhere(tmp_path / "src", tmp_path / "tests")["api.py"]
