"""deployment.toml after a node was added: its operator's own lines are all there."""

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator.newcomers_key import with_newcomer
from fedkin.flower.operator.site import add, init
from tests.engine.small import small

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
OWN = '# as the clinic asked\naddress = "10.1.2.3:9"  # of the router\nwait = 9.5\n'
LATE = 'newcomers = [\n    "late",\n]'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OWN, f"{OWN}{LATE}\n"),
        (f"{OWN}newcomers = [] # none\n\n# end", f"{OWN}{LATE} # none\n\n# end"),
        (f"newcomers=[ 'a',\n]\n{OWN}", f'newcomers = [\n    "a",\n    "late",\n]\n{OWN}'),
        (f"# newcomers = ['x']\n{OWN}", f"# newcomers = ['x']\n{OWN}{LATE}\n"),
    ],
)
def test_a_name_is_entered_and_nothing_else_changes(before, after, tmp_path):
    (tmp_path / DEPLOYMENT).write_text(before)
    assert with_newcomer(tmp_path / DEPLOYMENT, "late") == after


@pytest.mark.parametrize("key", ['"newcomers" = []', 'newcomers = [\n  "a",  # the clinic\n]'])
def test_what_cannot_be_extended_is_refused_before_anything_is_written(key, tmp_path):
    folder = init(tmp_path / "site", SPEC, ("north", "south"), "127.0.0.1:9")
    path = folder / DEPLOYMENT
    text = path.read_text().replace("newcomers = []", key)
    path.write_text(text)
    with pytest.raises(FedkinError, match=r"deployment\.toml: newcomers is written in a way that"):
        add(folder, "late")
    assert path.read_text() == text
    assert not (folder / "nodes" / "late").exists()


def test_comments_are_there_after_two_nodes_were_added(tmp_path):
    folder = init(tmp_path / "site", SPEC, ("north", "south"), "127.0.0.1:9")
    path = folder / DEPLOYMENT
    path.write_text("# ours\n" + path.read_text().replace("wait = ", "# slow phones\nwait = "))
    add(folder, "late")
    add(folder, "later")
    assert "# ours\n" in path.read_text()
    assert "# slow phones\n" in path.read_text()
    assert load(Deployment, folder, DEPLOYMENT).newcomers == ("late", "later")
