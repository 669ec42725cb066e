"""Functions of somebody's module that make methods: which are called, and what becomes of them."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods import known_name, make, taken, user_methods
from fedkin.methods.user_methods import allow, user_recipe

SOURCE = '''
from fedkin.core.hyperparameters import Part, Weights, declared
from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg
from fedkin.methods.fedprox import fedprox


def near(*, lr: float, mu: float = 0.1) -> Method:
    return fedprox(lr=lr, mu=2 * mu)


@declared
def part(*, lr: float, share: Part = 0.5) -> Method:
    """A part."""
    return fedavg(lr=share * lr)._replace(name="mine")


def weighed(*, lr: float, weights: Weights = "samples") -> Method:
    return fedavg(lr=lr, weights=weights)._replace(name="weighed")


def forgetful(*, lr: float, weights: Weights = "samples") -> Method:
    return fedavg(lr=lr)._replace(name="forgetful")


def renamed(*, lr: float, averaging: Weights = "samples") -> Method:
    return fedavg(lr=lr)._replace(name="renamed")


def needs(*, lr: float, alpha: float) -> Method:
    return fedavg(lr=lr * alpha)


def seven(*, lr: float) -> Method:
    return 7


def fails(*, lr: float) -> Method:
    raise ValueError("no licence\\nsecond line")


def unsaid(*, lr):
    return fedavg(lr=lr)


def many(*args: int, lr: float) -> Method:
    return fedavg(lr=lr)



class Class:
    pass


number = 3
'''


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch, own_modules) -> None:
    (tmp_path / "own51.py").write_text(SOURCE)
    (tmp_path / "own52.py").write_text("raise RuntimeError('no GPU here')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(user_methods._code, "_allowed", set())


def test_nobody_imports_what_nobody_typed() -> None:
    for ask in (known_name, user_recipe, lambda name: make(name, {}, {"lr": 0.1})):
        with pytest.raises(FedkinError, match="which nobody has allowed here: say --trust-code"):
            ask("own51:near")
    allow(["own51:near"])
    assert known_name("own51:near") == "own51:near"
    assert set(taken("own51:near", ["mu"])) == {"lr", "mu"}


def test_its_hyper_parameters_are_those_of_its_signature() -> None:
    """Those of the method that it is made of would be given to it when it is made again."""
    allow(["own51:near", "own51:part"])
    made = make("own51:near", {}, {"lr": 0.4, "rounds": 9})
    assert made.hyper == {"lr": 0.4, "mu": 0.1}
    assert make("own51:near", {"mu": 1}, {"lr": 0.4}).hyper == {"lr": 0.4, "mu": 1.0}
    assert make("own51:part", {"share": 0.25}, {"lr": 0.4}).hyper == {"lr": 0.4, "share": 0.25}


@pytest.mark.parametrize("weights", ["samples", "uniform"])
def test_its_weights_are_those_of_the_mean(weights) -> None:
    """Else a run would write down weights that nothing was weighed by."""
    allow(["own51:weighed", "own51:forgetful"])
    made = make("own51:weighed", {"weights": weights}, {"lr": 0.4})
    assert made.hyper == {"lr": 0.4, "weights": weights}
    assert made.aggregation.weight == weights
    with pytest.raises(FedkinError, match=r"^method\.weights of own51:forgetful is 'uniform', but"):
        make("own51:forgetful", {"weights": "uniform"}, {"lr": 0.4})


def test_it_is_called_as_its_function_is() -> None:
    allow(["own51:near", "own51:part"])
    assert make("own51:near", {}, {"lr": 0.4}).name == "near"
    assert make("own51:part", {}, {"lr": 0.4}).name == "part"


@pytest.mark.parametrize(
    ("name", "hyper", "said"),
    [
        ("gone51:near", {}, "method 'gone51:near' cannot be imported: ModuleNotFoundError: No mod"),
        (
            "own52:near",
            {},
            "method 'own52:near' cannot be imported: RuntimeError: no GPU here .own52",
        ),
        ("own51:gone", {}, "cannot be imported: own51 has no 'gone'"),
        ("own51:number", {}, "method 'own51:number' is no function that makes a method: one is"),
        ("own51:Class", {}, "is no function that makes a method"),
        ("own51:unsaid", {}, r"only if it declares its result \(def make\(\*, lr: float\) -> Meth"),
        ("own51:many", {}, r"method 'own51:many' takes \*args: int: give each of its hyper-param"),
        ("own51:needs", {}, r"method 'own51:needs' needs alpha in \[method\]$"),
        ("own51:seven", {}, "own51:seven makes no fedkin.Method, but int$"),
        (
            "own51:fails",
            {},
            "method 'own51:fails' cannot be made: ValueError: no licence \\(own51.py, line",
        ),
        ("own51:near", {"muu": 1.0}, "unknown own51:near hyper-parameter 'muu': did you mean 'mu'"),
        ("own51:near", {"mu": "x"}, "method.mu of own51:near: input should be a valid number"),
        ("own51:part", {"share": 2}, "method.share of own51:part: input should be less than or eq"),
        (
            "own51:renamed",
            {"averaging": "uniform"},
            "method.averaging of own51:renamed: Weights weigh the server's mean only where the "
            "parameter is called weights: rename averaging to weights$",
        ),
        ("own51:near", {"mu": float("nan")}, "method.mu of own51:near: .*finite"),
    ],
)
def test_each_mistake_is_one_sentence(name, hyper, said) -> None:
    allow([name])
    with pytest.raises(FedkinError, match=said) as told:
        make(name, hyper, {"lr": 0.1})
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("path", ["os:system", "shutil:rmtree", "subprocess:run", "builtins:exec"])
def test_what_makes_no_method_is_not_called(path) -> None:
    allow([path])
    with pytest.raises(FedkinError, match="is no function that makes a method"):
        make(path, {"path": "/nowhere"}, {"lr": 0.1})
