"""A mistake in a specification is one sentence with its line and the nearest choice."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.toml import parse_toml
from fedkin.runs.spec import parse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\n\nrouns = 3", "unknown key 'run.rouns' (line 3): did you mean 'rounds'?"),
        ("[trian]\nlr = 1", "unknown key 'trian' (line 1): did you mean 'train'?"),
        (
            "optimizer = 'adam'",
            "unknown key 'optimizer' (line 1): did you mean 'train.optimizer' or "
            "'server.optimizer'?",
        ),
        ("[train]\nlr = 1\n[run]\nseed = -1", "run.seed (line 4): input should be"),
        (
            "[train]\nbetas = [0.5, 2]",
            "input should be less than 1, not 2: the nearest is just below, such as 0.999",
        ),
        (
            "[train]\nmomentum = 1.5",
            "less than 1, not 1.5: the nearest is just below, such as 0.999",
        ),
        ("[train]\nmomentum = -0.1", "greater than or equal to 0, not -0.1"),
        ("[train]\noptimizer = 'adm'", "unknown value 'adm': did you mean 'adam'"),
        (
            "[data]\nmean = 0.5",
            "unknown value 0.5 (choices: auto; or a list of numbers, such as [0.5])",
        ),
        ("[data]\nmean = 'aut'", "did you mean 'auto'? (choices: auto; or a list of numbers)"),
        ("[data]\nmean = [0.5, 'x']", "data.mean.1 (line 2): input should be a valid number"),
        ("[data]\nstd = 2", "data.std (line 2): input should be a list, not 2: write [2]"),
        ("[model]\ntarget = 3", "(choices: auto, none, standard; or a list of numbers)"),
        ("[run]\nmeasure = 'acuracy'", "did you mean 'accuracy'?"),
        ("train = 3", "train (line 1) is a section: write train.lr = 3"),
        ("[[transforms]]\nname = 'median'\n[[transforms]]\nk = 1", "transforms, number 2"),
    ],
)
def test_where_it_is_and_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(FedkinError) as told:
        parse(parse_toml(text), text, "x.toml")
    assert said in str(told.value)
    assert "\n" not in str(told.value)
