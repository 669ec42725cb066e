"""A comparison as Python and notebooks show it."""

import pytest

from fedkin.report.comparison import side_by_side as module
from fedkin.report.comparison.side_by_side import SideBySide
from tests.report.comparison.compare_examples import shift
from tests.report.records_for_tests import write


@pytest.fixture
def beside(tmp_path):
    local = write(tmp_path / "local", method="local")
    shift(local, [-0.3, 0.1, 0.0])
    return SideBySide.of([write(tmp_path / "comet"), local])


def test_its_tables_are_those_of_the_comparison(beside) -> None:
    assert beside.runs["run"].tolist() == ["comet", "local"]
    assert beside.seeds.equals(beside.found.seeds)
    assert len(beside.against) == 1  # comet, against local


def test_text_and_html_have_the_same_runs(beside) -> None:
    text, html = repr(beside), beside._repr_html_()
    assert not text.endswith("\n")
    assert "| comet |" in text
    assert html.count("<table") >= 2
    assert "comet" in html
    assert "<script" not in html


def test_names_are_no_html(tmp_path) -> None:
    runs = [write(tmp_path / name, method=name) for name in ("<b>x", "local")]
    html = SideBySide.of(runs)._repr_html_()
    assert "<b>x" not in html
    assert "&lt;b&gt;x" in html


def test_a_page_is_written_where_it_is_told(beside, monkeypatch, tmp_path) -> None:
    asked = []

    def write_comparison(found, target):
        asked.append((found, target))
        return target

    monkeypatch.setattr(module, "write_comparison", write_comparison)
    assert beside.page(str(tmp_path / "a.html")) == tmp_path / "a.html"
    assert asked == [(beside.found, tmp_path / "a.html")]


def test_tables_and_charts_are_files_for_a_paper(beside, tmp_path) -> None:
    table = beside.latex(str(tmp_path / "a.tex"))
    assert r"\toprule" in table.read_text(encoding="utf-8")
    charts = beside.figures(str(tmp_path / "charts"))
    assert {path.suffix for path in charts} == {".svg", ".png", ".pdf"}
    assert all(path.stat().st_size for path in charts)


def test_a_papers_charts_name_methods(tmp_path) -> None:
    """The folders of a sweep's trials say nothing to a reader."""
    runs = [
        write(tmp_path / f"000{at}-x", method=name) for at, name in enumerate(("comet", "local"))
    ]
    charts = SideBySide.of(runs).figures(tmp_path / "charts")
    texts = {path.stem: path.read_text("utf-8") for path in charts if path.suffix == ".svg"}
    assert {"over-round", "pareto", "against", "fairness"} <= set(texts)
    for text in texts.values():
        assert "comet" in text
        assert "local" in text
        assert "-x<" not in text
