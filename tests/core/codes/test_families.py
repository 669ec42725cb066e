"""Codes of error messages: every module that raises has one, and what a code's page says is so."""

import ast
import pickle
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import fedkin as package
from fedkin.core.codes.families import FOREIGN, SYSTEM, USAGE, Family, code_of, families, of_module
from fedkin.core.errors import FedkinError, Halted, unknown
from tests.cli.command import fedkin, told
from website.errors_page import messages

ROOT = Path(package.__file__).parent
ERRORS = {  # every class of mistakes; a new one is seen by its base
    "FedkinError": FedkinError,
    "Halted": Halted,
}
TYPED = [one for one in families().values() if one.typed]
CHECKOUT = Path(__file__).parents[3]
MISSING = "the extra {0}: in fedkin's checkout, pip install -c constraints.txt '.[{0}]'"
BY_NAME = re.compile(r"""fedkin\\*\[\w|pip install ["'`]?fedkin\b""")
SHOWN = ("src/**/*.py", "src/**/*.toml", "docs/**/*.md", "website/**/*.*", "benchmarks/**/*.py")


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join((package.__name__, *path.relative_to(ROOT).with_suffix("").parts))


def raising(source: str, errors: set[str]) -> bool:
    """Whether a source makes an error of these classes."""
    made = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id in errors for one in made)


def error_classes() -> set[str]:
    """FedkinError and every class below it, by name, from the sources."""
    classes = [
        (node.name, {one.id for one in node.bases if isinstance(one, ast.Name)})
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    found, before = {"FedkinError"}, 0
    while before != len(found):
        before = len(found)
        found |= {name for name, bases in classes if bases & found}
    return found


def test_every_module_that_raises_has_a_code() -> None:
    errors = error_classes()
    assert {"Halted", "BadMessage", "Interrupted", "Unreadable"} <= errors
    modules = {
        module_of(path).removesuffix(".__init__")
        for path in ROOT.rglob("*.py")
        if raising(path.read_text(encoding="utf-8"), errors)
    }
    assert len(modules) > 150
    assert [name for name in sorted(modules) if of_module(name) == FOREIGN] == []


def test_places_are_named_once_and_exist() -> None:
    places = [place for one in families().values() for place in one.raised_in]
    assert len(places) == len(set(places))
    for place in places:
        path = ROOT.joinpath(*place.split("."))
        assert path.is_dir() or path.with_suffix(".py").is_file(), place


def test_the_longest_name_wins_and_words_win_over_it() -> None:
    assert code_of("x is wrong", "fedkin.setup.build") == "FED-202"
    assert code_of("x is wrong", "fedkin.setup.privacy") == "FED-801"
    assert code_of(MISSING.format("h5"), "fedkin.data.formats.text") == "FED-104"
    assert code_of("x is wrong", "fedkins.setup") == FOREIGN
    assert code_of("x is wrong", "fedkin") == FOREIGN


@pytest.fixture(scope="module")
def said() -> list[tuple[str, str]]:
    """Every message of the package with the module that it stands in."""
    return [
        (one, module_of(path))
        for path in sorted(ROOT.rglob("*.py"))
        for one in messages(path.read_text(encoding="utf-8"))
    ]


def test_a_missing_package_is_told_with_an_extra_and_how_to_install_it(
    said: list[tuple[str, str]],
) -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    told_so = [one for one, module in said if code_of(one, module) == "FED-104"]
    assert len(told_so) > 12
    for sentence in told_so:
        name = re.search(r"the extra (\w+):", sentence)
        assert name is not None
        assert sentence.endswith(MISSING.format(name[1])), sentence
        assert name[1] in extras, sentence


def test_nothing_is_installed_by_a_name_that_somebody_else_may_hold() -> None:
    shown = [CHECKOUT / "README.md", *(path for glob in SHOWN for path in CHECKOUT.glob(glob))]
    assert len(shown) > 900
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in shown}
    assert [path for path, text in texts.items() if BY_NAME.search(text)] == []
    assert all(
        map(BY_NAME.search, ["pip install 'fedkin[h5]'", "pip install fedkin", r"fedkin\[h5"])
    )


@pytest.mark.parametrize("one", families().values(), ids=families())
def test_an_example_is_a_sentence_of_its_family(one: Family, said: list[tuple[str, str]]) -> None:
    assert re.fullmatch(r"FED-\d{3}", one.code)
    assert one.title
    assert one.means.endswith(".")
    assert one.do
    if one.code in (FOREIGN, SYSTEM, USAGE):
        return
    codes = {
        code_of(one.example, module)
        for message, module in said
        if re.fullmatch(".*".join(map(re.escape, message.split("{…}"))), one.example)
    }
    assert one.code in codes, f"nobody says {one.example!r} there"


@pytest.mark.parametrize("one", TYPED, ids=[one.code for one in TYPED])
def test_the_command_of_a_page_gets_the_code(
    one: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDKIN_DATA", raising=False)
    for name, text in one.made.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    done = fedkin(*shlex.split(one.typed)[1:])
    assert done.exit_code == 2, done.output
    (*_, last) = done.stderr.splitlines()
    assert last == f"error: {one.example} [{one.code}]"


def test_an_error_keeps_who_raised_it() -> None:
    error = unknown("method", "comte", ["comet"])
    assert (error.raised_in, error.code) == (__name__, "FED-106")
    made = FedkinError("something")
    made.raised_in = "fedkin.masks.server"
    again = pickle.loads(pickle.dumps(made))
    assert (str(again), again.code) == ("something", "FED-802")


def test_a_long_sentence_keeps_its_code() -> None:
    assert len(told("run", "--data", "x" * 5000 + ".csv")) > 10


def test_explain_tells_what_the_page_tells() -> None:
    one = families()["FED-302"]
    text = fedkin("explain", "[fed-302]").stdout
    assert all(part in text for part in (one.title, one.means, one.example, *one.do))
    assert all(code in fedkin("explain").stdout for code in families())
