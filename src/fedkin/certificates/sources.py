"""The files that something is made of, and their digest."""

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]  # of the package fedkin


def files_from(roots: Mapping[str, Path], packages: Sequence[str]) -> dict[str, Path]:
    """{module: file} of some modules and of those that they import, however indirectly.

    Args:
        roots: {module: file} where it begins.
        packages: Whose modules are followed.

    Returns:
        In the order of the modules' names.
    """
    files: dict[str, Path] = {}
    waiting = list(roots.items())
    while waiting:
        module, path = waiting.pop()
        if module not in files:
            files[module] = path
            waiting += [(name, file_of(name)) for name in imported(path, packages)]
    return dict(sorted(files.items()))


def file_of(module: str) -> Path:
    """The file of a module of fedkin.

    Args:
        module: Its whole name.

    Returns:
        Where it is, or would be.
    """
    return ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")


def imported(path: Path, packages: Sequence[str]) -> list[str]:
    """Modules of some packages that a file imports.

    Args:
        path: A source file.
        packages: Without the dot at their end.

    Returns:
        Their whole names, as often as they are imported.
    """
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = [name for node in nodes if isinstance(node, ast.ImportFrom) for name in _named(node)]
    return [name for name in names if any(name.startswith(f"{one}.") for one in packages)]


def _named(node: ast.ImportFrom) -> Iterator[str]:
    """The module, or the modules that are taken from a package."""
    inner = [f"{node.module}.{one.name}" for one in node.names]
    modules = [name for name in inner if file_of(name).is_file()]
    yield from modules or [node.module or ""]


def digest_of(files: Mapping[str, Path]) -> str:
    """sha256 over files and their modules' names, line ends aside.

    Args:
        files: {module: file}, in the order that counts.

    Returns:
        64 hexadecimal digits.
    """
    total = hashlib.sha256()
    for module, path in files.items():
        total.update(f"{module}\n".encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return total.hexdigest()
