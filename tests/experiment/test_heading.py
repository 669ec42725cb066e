"""An experiment in one line."""

from fedkin.experiment.heading import head
from fedkin.runs.spec import Spec, parse


def test_it_has_what_was_asked_for() -> None:
    spec, _ = parse(
        {
            "method": {"name": "ditto", "lam": 0.5},
            "data": {"name": "/somewhere/of mine/t.csv", "label": "y"},
            "split": {"name": "dirichlet", "alpha": 0.3},
            "run": {"clients": 7, "rounds": 12, "seed": 5, "participation": 0.25},
            "model": {"name": "mlr"},
        }
    )
    assert head(spec) == (
        "ditto · t.csv · dirichlet alpha=0.3 · mlr · 7 clients · 25 % a round · 12 rounds · seed 5"
    )
    assert "· t.csv · the nodes' own data · mlr ·" in head(spec, "the nodes' own data")


def test_natural_clients_and_noise_that_protects_nobody() -> None:
    private = {"noise": 1.0, "clip": 1.0, "delta": 1e-5, "seeded": True}
    spec, _ = parse({"split": {"name": "natural"}, "privacy": private})
    assert "natural clients" in head(spec)
    assert "NOT PRIVATE" in head(spec)


def test_one_is_no_plural() -> None:
    asked = {"run": {"clients": 1, "rounds": 1}}
    assert "· 1 client · 1 round · seed 0" in head(Spec.model_validate(asked))
