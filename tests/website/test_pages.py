"""The site's pages: what is staged, what is generated, and that nothing of either is left out."""

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

import fedkin
from fedkin.certificates.registry import held
from fedkin.core.codes.families import families
from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec
from website import (
    api_pages,
    boards,
    commands,
    errors_page,
    man_page,
    measured,
    openings,
    spec_keys,
)
from website.build import CONFIG, stage
from website.for_programs import leaves
from website.links import broken, from_elsewhere
from website.markdown import staged
from website.staging import ROOT, Stage, place_of

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """The staged pages, and those that the navigation lists."""
    target = tmp_path_factory.mktemp("site") / "source"
    return target, {place for _, place in leaves(stage(target))}


def test_the_navigation_lists_every_page(source: tuple[Path, set[str]]) -> None:
    target, listed = source
    assert {place_of(path.relative_to(ROOT).as_posix()) for path in PAGES} <= listed
    there = {path.relative_to(target).as_posix() for path in target.rglob("*.md")}
    assert {place for place in there if not place.startswith("files/")} == listed


def test_every_page_opens_with_what_its_reader_can_do(source: tuple[Path, set[str]]) -> None:
    target, listed = source
    for place in listed:
        opening = openings.beginning((target / place).read_text(encoding="utf-8"))
        assert openings.BEGINS in " ".join(opening.split()), place


def test_a_page_that_nothing_opens_is_told(tmp_path: Path) -> None:
    (tmp_path / "new.md").write_text("# New\n\nText.\n", encoding="utf-8")
    with pytest.raises(KeyError):
        openings.complete(tmp_path)


def test_a_page_without_a_line_is_listed_under_more(
    source: tuple[Path, set[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "zensical.toml"
    config.write_text(CONFIG.read_text().replace('{ "Real devices" = "deploy.md" },', ""))
    monkeypatch.setattr("website.build.CONFIG", config)
    last = stage(tmp_path / "source")[-1]
    assert "deploy.md" in [place for _, place in leaves(last["More"])]


def test_the_configuration_fetches_nothing() -> None:
    project = tomllib.loads(CONFIG.read_text())["project"]
    assert project["theme"]["font"] is False
    assert "http" not in "".join(project.get("extra_css", []) + project.get("extra_javascript", []))


def test_every_command_and_option_has_its_line(source: tuple[Path, set[str]]) -> None:
    target, _ = source
    for typed, command in commands.paths().items():
        if typed == "fedkin":
            continue
        text = (target / "reference" / "cli" / f"{typed.split()[1]}.md").read_text()
        part = re.search(rf"^#+ {typed}\n(.*?)(?=^#+ |\Z)", text, re.DOTALL | re.MULTILINE)
        assert part is not None, typed
        for one in command.params:
            if one.param_type_name == "option":
                assert all(f"`{name}" in part[1] for name in one.opts), (typed, one.opts)
    assert "fedkin deploy node" in commands.paths()


def test_the_manual_page_has_every_command_and_option() -> None:
    text = man_page.page()
    for typed, command in commands.paths().items():
        assert typed == "fedkin" or f"\n.SS {typed}\n" in text, typed
        for one in command.params if typed != "fedkin" else ():
            for name in one.opts if one.param_type_name == "option" else ():
                assert name.replace("-", r"\-") in text, (typed, name)
    requests = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".B", ".I"}
    assert man_page._text(".so \\ a\n-b") == r"\&.so \e a \-b"
    assert "Data directory [env: FEDKIN_DATA]." in text


def test_every_key_has_a_type_and_an_example_that_the_parser_takes() -> None:
    spec_keys.check_examples()
    found = {key.path: key for key in spec_keys.every_key()}
    declared = {
        f"{section}.{name}"
        for section, field in Spec.model_fields.items()
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel)
        for name in field.annotation.model_fields
    }
    assert set(found) == declared
    assert [path for path, key in found.items() if not key.type] == []
    assert [path for path, key in found.items() if key.example is None] == []
    assert [path for path, key in found.items() if not key.meaning] == []
    assert found["train.lr"].type == "number > 0"
    assert found["data.pool"].type == '"train" | "all"'
    assert found["run.clients"].meaning == "default: 20, or all that the data name"


def test_an_example_that_the_parser_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spec_keys.EXAMPLES, "run.clients", 0)
    with pytest.raises(FedkinError, match=r"example of run\.clients"):
        spec_keys.check_examples()


def test_comments_beside_a_key_are_its_meaning() -> None:
    class Section(BaseModel):
        plain: int = 3
        said: tuple[float, ...] = (  # over
            2.0,  # three lines
        )
        described: int = Field(default=1, ge=1)  # beside
        # above
        # and again
        told: int = 2  # and beside

    assert spec_keys.comments(Section) == {
        "plain": "",
        "said": "over three lines",
        "described": "beside",
        "told": "above and again and beside",
    }


def test_public_names_and_modules_that_pages_import_are_in_the_reference() -> None:
    public = {module for group in api_pages.public().values() for module in group}
    assert {api_pages.place(name).rpartition(".")[0] for name in fedkin.__all__} <= public
    used = api_pages.imported()
    assert {"fedkin.core.tree", "fedkin.report.frames"} <= used <= public
    assert "fedkin.report" not in used
    for module in public:
        assert inspect.getdoc(importlib.import_module(module)), module


def test_methods_have_their_facts_beneath_their_pages(source: tuple[Path, set[str]]) -> None:
    target, _ = source
    text = "".join(path.read_text() for path in (target / "methods").glob("*.md"))
    for name in fedkin.methods.METHODS:
        assert f"\n## {name} at a glance\n" in text, name
        proved = bool(held(name)[0].content)  # a new method has no certificate yet
        assert (f'"Certificate of {name}:' in text) == proved, name


def test_methods_have_their_measured_rows(source: tuple[Path, set[str]]) -> None:
    target, _ = source
    text = (target / "methods" / "ditto.md").read_text(encoding="utf-8")
    assert "### Measured rows of ditto" in text
    har = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = har.split("<!-- methods-har -->")[1].split("<!-- end -->")[0]
    (row,) = [line for line in table.splitlines() if line.startswith("| ditto |")]
    score = row.split(" | ")[1]
    assert f"| {score} |" in text
    found = measured.by_method()
    assert {one.page for one in found["cgpfl"]} >= {"results.md", "reproduction/cgpfl-table-1.md"}
    assert {one.page for one in found["fedavg"]} >= {"bench.md"}
    assert measured._method("fedkin run examples/papers/ppfl_mnist.toml --set a=1") == "ppfl"
    assert measured._method("fedkin run examples/papers/ppfl_mnist.toml --method fedem") == "fedem"
    none = measured.lines("nosuch")
    assert "fedkin bench run small --methods nosuch" in none[-1]


def test_the_leaderboard_has_a_page_for_each_file_of_rows(source: tuple[Path, set[str]]) -> None:
    target, _ = source
    text = (target / "bench.md").read_text(encoding="utf-8")
    files = sorted((ROOT / "docs" / "leaderboard").glob("*.jsonl"))
    assert files
    for rows in files:
        place = f"leaderboard/{rows.stem}.html"
        assert text.count(f"[{rows.stem}]({place})") == 1
        made = (target / place).read_text(encoding="utf-8")
        assert "<h1>Leaderboard</h1>" in made
        assert f"Suite {rows.stem}:" in made
        assert len(made) < 2_000_000
    assert from_elsewhere(target / "leaderboard") == []
    assert broken(target / "leaderboard") == []


def test_a_leaderboard_that_nothing_would_link_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "bench.md").write_text("# The leaderboard\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no heading 'Leaderboard tables'"):
        boards.complete(tmp_path)


def test_messages_are_read_from_the_sources() -> None:
    source = 'raise FedkinError(f"{name} is not one of " + "three `words`")\nraise ValueError("no")'
    assert errors_page.messages(source) == ["{…} is not one of three 'words'"]
    assert errors_page.messages('raise FedkinError(f"{whole}")') == []
    pages = errors_page.page()
    text = "".join(pages.values())
    assert set(pages) == {
        "reference/errors.md",
        *(f"reference/errors/{code}.md" for code in families()),
    }
    assert all(f"errors/{code}.md" in pages["reference/errors.md"] for code in families())
    assert "error: file patients.csv does not exist" in pages["reference/errors/FED-301.md"]
    assert "(../../howto/images.md)" in pages["reference/errors/FED-305.md"]
    calls = sum(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") == "FedkinError"
        for path in Path(fedkin.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
    )
    assert text.count("\n| `") > calls * 0.8


def test_lists_comments_and_links_as_the_sites_parser_has_them() -> None:
    text = "Readings\n- one [a](b.md)\n  goes on\n  - inner\n\n  more\n\nEnd.\n<!-- x -->\n| a |\n"
    text += "```md\n- [kept](c.md)\n<!-- kept -->\n```\n`[code](d.md)` [`name`](e.md#f)"
    assert staged(text, str.upper).split("\n") == [
        *("Readings", "", "- one [a](B.MD)", "    goes on", "    - inner", "", "    more", ""),
        *("End.", "", "| a |", "```md", "- [kept](c.md)", "<!-- kept -->", "```"),
        "`[code](d.md)` [`name`](E.MD#F)",
    ]


def test_a_number_in_a_table_keeps_its_percent_beside_it() -> None:
    text = "98 % of all\n\n| a | b |\n|---|---|\n| 98.65 % | 5 % [1 %, 9 %] |\n"
    assert staged(text, str).split("\n")[:5] == [
        *("98 % of all", "", "| a | b |", "|---|---|"),
        "| 98.65\N{NO-BREAK SPACE}% | 5\N{NO-BREAK SPACE}% [1\N{NO-BREAK SPACE}%, "
        "9\N{NO-BREAK SPACE}%] |",
    ]


def test_an_item_after_one_of_two_paragraphs_stays_an_item() -> None:
    text = "1. one\n\n   more\n2. two\n3. three\n\nEnd.\n- a"
    assert staged(text, str).split("\n") == [
        *("1. one", "", "    more", "", "2. two", "3. three", "", "End.", "", "- a"),
    ]


def test_links_out_of_docs_lead_to_pages_of_the_site(source: tuple[Path, set[str]]) -> None:
    target, _ = source
    assert "(contributing.md#" in (target / "architecture.md").read_text()
    assert "(../files/examples/foreign_method.md)" in (target / "tutorials/median.md").read_text()
    shown = (target / "files" / "examples" / "foreign_method.md").read_text()
    assert (ROOT / "examples" / "foreign_method" / "fedavgm.py").read_text().strip() in shown


def test_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"docs/data\.md links to gone\.md"):
        Stage(tmp_path)._moved("gone.md", "docs/data.md", "data.md")


def test_broken_links_and_foreign_scripts_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="sub/a.html#here">ok</a><a href="sub/a.html#gone">no</a><a href="#top">no</a>'
        '<a href="https://example.org/">ok</a><img src="missing.png">'
        '<script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "sub" / "a.html").write_text('<h2 id="here">x</h2><a href="../index.html">ok</a>')
    assert broken(tmp_path) == [
        f"index.html: {link}" for link in ("sub/a.html#gone", "#top", "missing.png")
    ]
    assert from_elsewhere(tmp_path) == ["index.html: https://example.org/x.js"]


def test_every_block_of_a_language_is_read_by_it() -> None:
    """Blocks that no other test runs have no mistake of form, at least: options that do not exist,
    keys that do not exist, Python that does not compile.
    """
    known: dict[str, Any] = commands.paths()
    for path in PAGES:
        text = path.read_text()
        for language, code in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            where = f"{path.name}: {code[:40]!r}"
            if language == "python":
                compile(code, where, "exec")
            elif language == "toml":
                tomllib.loads(code)
            elif language == "bash":
                for line in re.findall(r"^fedkin (.*)$", code, re.MULTILINE):
                    words = line.partition("  #")[0].split()
                    longest = max(
                        (typed for typed in known if f"fedkin {line} ".startswith(f"{typed} ")),
                        key=len,
                    )
                    options = {name for one in known[longest].params for name in one.opts}
                    given = {word.partition("=")[0] for word in words if word.startswith("--")}
                    assert given <= options | {"--help", "--version"}, (where, longest, given)
