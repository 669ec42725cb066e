"""Transforms as the shell and as Python ask for them; keywords that are none."""

import pytest

from fedkin import Experiment
from fedkin.core.errors import FedkinError
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
    mixed = content_of({"transforms": [ASKED[0], TYPED[1]]})[0]
    assert mixed == content_of({"transform": [TYPED[0], ASKED[1]]})[0] == {"transforms": ASKED}


def net_benefit_score(p, y) -> float:
    return 0.5


def test_a_measure_is_given_by_its_name_and_a_function_is_told_which_that_is() -> None:
    assert content_of({"measure": "mine.py:top_score"})[0] == {"run": {"measure": "mine:top_score"}}
    path = f"{__name__}:net_benefit_score"
    with pytest.raises(FedkinError, match=f"measure is a function, .*: write measure='{path}'$"):
        content_of({"measure": net_benefit_score})
    with pytest.raises(FedkinError, match=r"of a file my_measures\.py$"):
        content_of({"measure": lambda p, y: 0.5})


@pytest.mark.parametrize(
    ("settings", "meant"),
    [
        ({"optimizer": "adam"}, "'train.optimizer' or 'server.optimizer', .* train__optimizer=… "),
        ({"Min_Replies": 3}, "'run.min_replies', .* run__min_replies=… "),
        ({"method": "PFedMe", "lam": 3}, r"'method\.lam', .*\*\*{'method\.lam': …}\?$"),
        ({"method": "comet:lam=1", "clusters": 3}, r"'method\.clusters', "),
        ({"hidden": 8}, r"'model\.hidden', "),
        ({"split": "shards", "per_client": 3}, r"'split\.per_client', "),
    ],
)
def test_a_key_of_a_section_is_named_with_its_dot(settings, meant) -> None:
    word = list(settings)[-1]
    with pytest.raises(FedkinError, match=f"^unknown keyword '{word}': did you mean {meant}"):
        content_of(settings)


@pytest.mark.parametrize("word", ["shape", "floor", "size", "zzz", "lam"])
def test_a_word_that_is_no_key_of_what_is_chosen_has_the_list(word: str) -> None:
    with pytest.raises(FedkinError, match=rf"^unknown keyword '{word}'.*\(choices: batch_size, "):
        content_of({"split": "iid", word: 3})


def test_what_the_sentence_says_is_taken() -> None:
    assert content_of({"train__optimizer": "adam"})[0] == {"train": {"optimizer": "adam"}}
    assert content_of({"train.optimizer": "adam"})[0] == {"train": {"optimizer": "adam"}}


def test_transforms_replace_those_of_a_file_and_one_more_follows_them(tmp_path) -> None:
    file = Experiment("fedavg", transform=TYPED).write(tmp_path / "e.toml")
    assert Experiment.read(file, transforms=[]).spec.transforms == ()
    for other in ("median", {"name": "median"}):
        (one,) = Experiment.read(file, transforms=[other]).spec.transforms
        assert one.name == "median"
    assert len(Experiment.read(file, transform="median").spec.transforms) == 3


def test_usual_names_change_a_file_too(tmp_path) -> None:
    file = Experiment("fedavg", lr=0.1, clients=3).write(tmp_path / "e.toml")
    for changes in (
        {"learning_rate": 0.2, "num_clients": 5},
        {"train.learning_rate": 0.2, "run": {"num_clients": 5}},
    ):
        with pytest.warns(UserWarning, match="is called .* here"):
            changed = Experiment.read(file, **changes).spec
        assert (changed.train.lr, changed.run.clients) == (0.2, 5)
    spec, hints = specification(
        file, {}, ["train.learning_rate=0.2", "method.lam=3", "algorithm=ditto"]
    )
    assert (spec.train.lr, spec.method.name, spec.method.options) == (0.2, "ditto", {"lam": 3})
    assert "train.learning_rate is called train.lr here" in hints


@pytest.mark.parametrize(
    ("changes", "both"),
    [
        ({"data": "p.csv:client=h", "client": "x"}, "data=… and client=… both give data.client"),
        ({"train": {"learning_rate": 1}, "lr": 0.1}, "train=… and lr=… both give train.lr"),
        ({"method": "ditto:lam=1", "method__lam": 2}, "method=… and method__lam=… both give"),
    ],
)
def test_two_keywords_for_one_key_of_a_file_are_named_as_python_has_them(
    tmp_path, changes, both
) -> None:
    file = Experiment("local").write(tmp_path / "e.toml")
    with pytest.raises(FedkinError, match=f"^{both}"):
        Experiment.read(file, **changes)
