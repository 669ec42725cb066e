"""Transforms as the shell and as Python ask for them."""

from fedkin.runs.spec import parse
from fedkin.setup.arguments.keywords import content_of
from fedkin.setup.arguments.options import specification

ASKED = [{"name": "norm_bound", "bound": 2.5}, {"name": "median"}]


TYPED = ["norm_bound:bound=2.5", "median"]


def test_the_shell_and_python_ask_alike(tmp_path):
    file = tmp_path / "e.toml"
    file.write_text('[[transforms]]\nname = "norm_bound"\nbound = 2.5\n')
    spec, _ = specification(file, {"transform": TYPED[1:]}, [])
    assert [{"name": one.name, **one.options} for one in spec.transforms] == ASKED
    assert specification(None, {"transform": TYPED}, [])[0].transforms == spec.transforms
    assert parse(content_of({"transforms": ASKED})[0])[0].transforms == spec.transforms
    assert parse(content_of({"transform": TYPED})[0])[0].transforms == spec.transforms
