"""Code of somebody's own, named as ``package.module:attribute``: here alone fedkin imports it.

A name that nobody has allowed is not imported. What may be called is for the caller to say.
"""

import importlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from fedkin.core.errors import FedkinError, cut, named_line, near
from fedkin.core.system.digests import short
from fedkin.core.system.no_exit import PACKAGE
from fedkin.core.system.process_settings import importing

_WORD = r"[^\W\d]\w*"
_WORDS = re.compile(rf"{_WORD}(\.{_WORD})*")
_SLASH = re.compile(r"[/\\]")
_OF_FILE = re.compile(r"(?P<file>(?:[A-Za-z]:[/\\])?[^:]+?)(?P<suffix>\.py)?(?::(?P<name>.*))?")
_PATH = re.compile(rf"{_WORDS.pattern}:{_WORD}")
_FUNCTION = re.compile(r"^def ([^\W\d_]\w*)", re.MULTILINE)  # that others may call
MOST_NAMED = 3
STANDARD = Path(sysconfig.get_path("stdlib"))
BOUGHT = frozenset({"site-packages", "dist-packages"})  # folders of what others wrote


def is_user_code(name: str) -> bool:
    """Whether a name is one of code of somebody's own.

    >>> is_user_code("my_methods:slower"), is_user_code("fedavg"), is_user_code("ditto:lam=2")
    (True, False, False)

    Args:
        name: As a person or a file has it.

    Returns:
        Whether it is ``package.module:attribute``, with nothing behind it.
    """
    return _PATH.fullmatch(name) is not None


def of_this_folder(text: str) -> str:
    """What is in a file of this folder, or of one in it, as what is in a module.

    >>> of_this_folder("mynet.py:Net"), of_this_folder("./sub/net.py:Net"), of_this_folder("a:Net")
    ('mynet:Net', 'sub.net:Net', 'a:Net')

    Args:
        text: ``file.py:name``, with options behind it or without, or anything else.

    Returns:
        ``module:name``; anything else as it is.

    Raises:
        FedkinError: It is the path of a file that no module's name stands for, or names nothing in
            its file.
    """
    found = _OF_FILE.fullmatch(text)
    if found is None or not (found["suffix"] or (_SLASH.search(found["file"]) and found["name"])):
        return text
    file, name = found["file"], found["name"]
    parts = [part for part in _SLASH.split(file) if part not in ("", ".")]
    if not parts:
        return text
    elsewhere = ".." in parts or file.startswith("/") or ":" in file
    module = ".".join(parts)
    if found["suffix"] and name and not elsewhere and _WORDS.fullmatch(module):
        return f"{module}:{name}"
    raise FedkinError(
        f"{cut(text)!r} names no module: a module's name has dots in place of slashes, and no .py: "
        f"{_nearest(parts[-1:] if elsewhere else parts, name or 'NAME', elsewhere)}"
    )


def _nearest(parts: Sequence[str], name: str, elsewhere: bool) -> str:
    """What to write for a file that is no module as it is called, or where it lies."""
    words = [re.sub(r"^(?=\d)", "_", re.sub(r"\W", "_", part)) for part in parts]
    renamed = "" if words == [*parts] else f", and call the file {'/'.join(words)}.py"
    where = "in the folder of that file " if elsewhere else ""
    return f"{where}write {cut('.'.join(words))}:{cut(name)}{renamed}"


class UserCode:
    """Names that a person has typed, or has said that a file may name.

    Args:
        what: What they stand for, in sentences: "model", "method".
        hint: What to do where a name is not among them.
    """

    def __init__(self, what: str, hint: str) -> None:
        self._what, self._hint = what, hint
        self._allowed: set[str] = set()

    def allow(self, names: Iterable[str]) -> None:
        """Let this process import them.

        Args:
            names: Each as ``package.module:attribute``, without options.
        """
        self._allowed.update(names)

    def imported(self, path: str) -> Any:
        """What a name stands for; it is not called.

        Args:
            path: ``package.module:attribute``.

        Returns:
            The attribute.

        Raises:
            FedkinError: Nobody has allowed it, or it cannot be imported.
        """
        if path not in self._allowed:
            raise FedkinError(
                f"{self._what} {path!r} is code of one's own, which nobody has allowed here: "
                f"{self._hint}"
            )
        module, _, attribute = path.partition(":")
        try:
            with importing():
                found = importlib.import_module(module)
                return getattr(found, attribute)
        except AttributeError as error:
            here = sys.modules.get(module)  # None where it failed itself
            why = named_line_of(error)
            if here is not None and not hasattr(here, attribute):
                why = f"{module} has no {attribute!r}{near(attribute, _defined(here))}"
        except Exception as error:  # importing runs somebody's file: it may raise anything
            why = named_line_of(error)
            if isinstance(error, ModuleNotFoundError) and error.name == module:
                instead = f": install it, or start fedkin in the folder of {module}.py"
                why += near(module, _files_here()) or instead
        raise FedkinError(f"{self._what} {path!r} cannot be imported: {why}")


def in_a_file_here(name: str) -> str:
    """What to write where a file of this folder has a name that was typed; the file is read, and
    not run.

    Args:
        name: That stands for nothing.

    Returns:
        "write blend:slower for the function of your file blend.py"; "" where no file is called so.
    """
    file = Path(f"{name}.py")
    if name not in _files_here() or not file.is_file():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    defined = _FUNCTION.findall(text) or ["FUNCTION"]
    functions = "the function" if len(defined) == 1 else "a function"
    typed = " or ".join(f"{name}:{function}" for function in defined[:MOST_NAMED])
    return f"write {typed} for {functions} of your file {file}"


def _files_here() -> list[str]:
    """The modules of the current folder, by their names."""
    found = [path.stem for path in Path().glob("*.py")]
    return sorted(name for name in found if _WORDS.fullmatch(name))


def _defined(module: ModuleType) -> list[str]:
    """What a module defines itself, and others may call."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def user_line(error: Exception) -> str:
    """Where the author of one's own code finds what failed.

    Args:
        error: That came through it.

    Returns:
        "mine.py, line 12": the last line outside of fedkin and of libraries; "" where there is
        none.
    """
    lines = [(Path(frame.filename), frame.lineno) for frame in extract_tb(error.__traceback__)]
    others = [one for one in lines if not _machinery(one[0])]
    installed = [one for one in others if "torch" not in one[0].parts]  # by its author, perhaps
    own = [one for one in others if not _bought(one[0])] or installed[:1]
    return f"{own[-1][0].name}, line {own[-1][1]}" if own else ""


def _bought(file: Path) -> bool:
    return not BOUGHT.isdisjoint(file.parts)


def _machinery(file: Path) -> bool:
    """Whether it is fedkin's or Python's own, or none at all."""
    pythons = file.is_relative_to(STANDARD) and not _bought(file)
    return file.is_relative_to(PACKAGE) or pythons or str(file).startswith("<")


def named_line_of(error: Exception) -> str:
    """What an exception of one's own code says, in one line, and in which line of it.

    Args:
        error: That came through it.

    Returns:
        "KeyError: 'x' (mine.py, line 12)"; without the place where it is not found.
    """
    place = user_line(error)
    return f"{named_line(error)} ({place})" if place else named_line(error)


def find_user_code() -> None:
    """Look for it in the folder of the command too, last: no file there stands in for a library."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def file_digest(found: Callable[..., Any]) -> str:
    """Stands for the file that a function or a class is written in. What that file imports is not
    looked at.

    Args:
        found: The function or class; of a decorated one that names what it wraps
            (``fedkin.core.hyperparameters.declared``), the file is that of what is wrapped.

    Returns:
        The first twelve hexadecimal digits of the file's sha256; "" where there is no file.
    """
    try:
        source = inspect.getsourcefile(inspect.unwrap(found))
        content = None if source is None else Path(source).read_bytes()
    except (OSError, TypeError):  # compiled, or typed where no file is
        content = None
    return "" if content is None else short(content)
