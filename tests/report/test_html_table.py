"""Small tables for notebooks."""

from fedkin.report.html_table import html_table


def test_whatever_a_cell_holds_is_text_and_columns_are_heads() -> None:
    found = html_table("<b>&", [("<script>", 3)], ["n<m", "v"])
    assert "<script>" not in found
    assert found.startswith("<b>&lt;b&gt;&amp;</b><table><tr><th>n&lt;m</th><th>v</th></tr>")
    assert found.endswith("<tr><td>&lt;script&gt;</td><td>3</td></tr></table>")
