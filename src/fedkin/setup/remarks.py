"""What is no error and yet seldom meant, of an experiment whose objects are made."""

from fedkin.core.method import Method
from fedkin.models.softmax import softmax_remark
from fedkin.setup.build import Assembled


def remarks(parts: Assembled) -> list[str]:
    """What is no error and yet seldom meant: a model that gives probabilities where logits are
    asked for, a step that overshoots.
    """
    x = parts.population.x[:8]
    ends = [said for model in parts.models.values() if (said := softmax_remark(model, x))]
    return [*ends, *_overshooting(parts.method)]


def _overshooting(method: Method) -> list[str]:
    """Of methods whose personal model is pulled to another: η times λ is a share of the way."""
    eta, lam = method.hyper.get("personal_lr"), method.hyper.get("lam")
    if not isinstance(eta, int | float) or not isinstance(lam, int | float) or eta * lam < 1:
        return []
    return [
        f"{method.name}: personal_lr times lam is {eta * lam:.3g}: from 1 on a personal step goes "
        f"beyond the model that pulls it; try method.personal_lr={0.6 / lam:.2g}"
    ]
