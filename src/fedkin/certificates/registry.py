"""Fidelity certificates: what the tests have proved of each method, packaged with it.
scripts/certify writes them.

A certificate holds the digest of the sources it is about, so that one of an edited method is named
to be stale.
"""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fedkin.certificates import transforms
from fedkin.certificates.sources import digest_of, files_from
from fedkin.core.system.user_code import is_user_code
from fedkin.methods import METHODS, no_method, own_name, registry

# the kinds of evidence, as tests are marked
SECTIONS = ("reference", "closed form", "law", "messages")
GOLDEN = "golden"  # one more, where numbers of other people's code are at hand
HELD_AGAINST = "held against"  # of a reference: public code, with its commit and files
FILE = "certificates.json"
STATES = {
    "current": "of the method as it is installed",
    "stale": "STALE: the method's source is no longer what was certified",
    "unverified": "the method's source cannot be read, so it is not known whether it is what "
    "was certified",
    "none": "no certificate: the method is not one of fedkin's, whose tests it does not take",
}


class Held(NamedTuple):
    """A method's certificate, or a transform's, and whether it still speaks of it; {} for state
    "none".
    """

    name: str
    state: Literal["current", "stale", "unverified", "none"]
    content: dict[str, Any]


@cache
def packaged() -> dict[str, Any]:
    """The whole file: {about, methods: {name: certificate}, transforms: {name: certificate}}.

    Returns:
        Plain values, read once.
    """
    content: dict[str, Any] = json.loads(
        files("fedkin.certificates").joinpath(FILE).read_text(encoding="utf-8")
    )
    return content


def held(name: str | None = None) -> list[Held]:
    """The certificates of all methods, or that of one method or transform.

    Args:
        name: Of a method, in any of its spellings, or a key of ``transforms.CERTIFIED``; None: of
            all methods.

    Returns:
        One each, in the order of names; state "none" where there is no certificate.

    Raises:
        FedkinError: An unknown name.
    """
    known = registry()
    if name is None:
        return [_held(one, known[one]) for one in sorted(known)]
    if name in transforms.CERTIFIED:
        return [_of_transform(name)]
    name = own_name(name, known)
    if is_user_code(name):
        return [Held(name, "none", {})]
    if name not in known:
        raise no_method(name, known)
    return [_held(name, known[name])]


def _held(name: str, recipe: Callable[..., Any]) -> Held:
    return _beside(name, packaged()["methods"].get(name), lambda: digest(recipe))


def _of_transform(name: str) -> Held:
    certificate = packaged()["transforms"].get(name)
    return _beside(name, certificate, lambda: transforms.digest(name))


def _beside(name: str, content: dict[str, Any] | None, digested: Callable[[], str]) -> Held:
    """A certificate beside what is installed."""
    if content is None:
        return Held(name, "none", {})
    try:
        same = digested() == content["sha256"]
    except (OSError, TypeError):
        return Held(name, "unverified", content)
    return Held(name, "current" if same else "stale", content)


def sources(recipe: Callable[..., Any]) -> dict[str, Path]:
    """{module: file} of a method and of the methods that it is made of.

    Args:
        recipe: A method's function.

    Returns:
        In the order of the modules' names.
    """
    return files_from({recipe.__module__: _file(recipe)}, ("fedkin.methods",))


def digest(recipe: Callable[..., Any]) -> str:
    """sha256 over the sources of a method, line ends aside.

    Args:
        recipe: A method's function.

    Returns:
        64 hexadecimal digits.
    """
    return digest_of(sources(recipe))


def readings(recipe: Callable[..., Any]) -> dict[str, list[str]]:
    """{readings: […], deviations: […]}: the paragraphs so begun in the docstrings of a method's
    file.

    Args:
        recipe: A method's function.

    Returns:
        {"readings": […], "deviations": […]}, a text each.
    """
    others = {other.__name__ for other in METHODS.values() if other is not recipe}
    by_kind: dict[str, list[str]] = {"readings": [], "deviations": []}
    for text in _docstrings(_file(recipe), others):
        for kind, paragraph in paragraphs(text):
            by_kind[kind].append(paragraph)
    return by_kind


def paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of "readings" or "deviations" and what follows the colon, to the next such word or the
    empty line.

    Args:
        text: A docstring.

    Yields:
        ("readings" or "deviations", the paragraph in one line).
    """
    pattern = (
        r"^[ \t]*(Reading|Deviation)s?:[ \t]*(.*?)(?=^[ \t]*(?:Reading|Deviation)s?:|^[ \t]*$|\Z)"
    )
    for word, paragraph in re.findall(pattern, text, re.DOTALL | re.MULTILINE):
        if paragraph.strip():
            yield f"{word.lower()}s", " ".join(paragraph.split())


def lacking(certificate: dict[str, Any]) -> list[str]:
    """What a whole certificate has and this one has not.

    Args:
        certificate: Of ``packaged``, of a method.

    Returns:
        A few words each; [] of a whole one.
    """
    reference, messages = certificate["reference"], certificate["messages"]
    missing = [kind for kind in SECTIONS if not certificate[kind]["tests"]]
    if certificate["closed form"].get("does not apply"):
        missing.remove("closed form")
    if reference["tests"] and (reference["gap"] is None or not reference["rounds"]):
        missing.append("the gap to the reference")
    if messages["tests"] and not (messages["sent"] and messages["personal"]):
        missing.append("sizes of messages, and what is personal")
    if not certificate["readings"] and not certificate["deviations"]:
        missing.append("readings or deviations in the docstring")
    return missing


def _file(recipe: Callable[..., Any]) -> Path:
    return Path(inspect.getsourcefile(inspect.unwrap(recipe)) or "")


def _docstrings(path: Path, others: set[str]) -> Iterator[str]:
    """Those of a module and of its functions at any depth, without the other methods that it
    defines.
    """
    module = ast.parse(path.read_text(encoding="utf-8"))
    for part in [module, *module.body]:
        if getattr(part, "name", None) in others:
            continue
        for node in [part] if part is module else ast.walk(part):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""
