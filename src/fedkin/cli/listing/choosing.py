"""Which method for me: tables made from the registry and the certificates, for docs/needs.md."""

from collections.abc import Callable, Sequence
from functools import cache

from fedkin.certificates.registry import packaged
from fedkin.core.errors import FedkinError
from fedkin.core.method import Needs
from fedkin.methods.needs import needs_of
from fedkin.report import formatting
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble

# what somebody may not have → whether a method does without it
QUESTIONS: dict[str, Callable[[Needs], bool]] = {
    "clients of different architectures": lambda needs: not needs.one_architecture,
    "no public data": lambda needs: needs.public == "none",
    "a public set without labels": lambda needs: needs.public == "unlabeled",
    "clients that are away in some rounds": lambda needs: not needs.full_participation,
    "no validation samples at the clients": lambda needs: not needs.validation,
    "regression: numbers, not classes": lambda needs: not needs.classes,
}
LINEAR = "a linear model"


def table(names: Sequence[str]) -> str:
    """A row a method: what it needs, what a client receives and sends in a round by kind.

    Args:
        names: Of methods.

    Returns:
        A table in Markdown.
    """
    lines = ["| method | needs | receives / sends | before the first round |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {_needs(name)} | {_traffic(name)} | {_setup(name)} |" for name in sorted(names)
    ]
    return "\n".join(lines) + "\n"


def answers(names: Sequence[str]) -> str:
    """A row a question: the methods that fit.

    Args:
        names: Of methods.

    Returns:
        A table in Markdown.
    """
    known = {
        name: needs
        for name in sorted(names)
        if (needs := needs_of(name)) is not None and not needs.pooled
    }
    lines = ["| you have | methods |", "|---|---|"]
    for question, fits in QUESTIONS.items():
        fitting = [name for name, needs in known.items() if fits(needs)]
        lines.append(f"| {question} | {', '.join(fitting) or formatting.NONE} |")
    taking = [name for name in known if takes_linear(name)]
    lines.append(f"| {LINEAR} | {', '.join(taking) or formatting.NONE} |")
    return "\n".join(lines) + "\n"


@cache
def takes_linear(name: str) -> bool:
    """Whether a method, by its defaults, trains a model of one layer: it divides none, and looks at
    nothing before a head.

    Args:
        name: Of the method.

    Returns:
        False where it refuses such a model.
    """
    content = {
        "method": {"name": name},
        "data": {"name": "digits"},
        "model": {"name": "mlr"},
        "public": {"labeled": True},
        "run": {"clients": 8},
    }
    try:
        assemble(parse(content)[0])
    except FedkinError:
        return False
    return True


def _needs(name: str) -> str:
    needs = needs_of(name)
    if needs is None:
        return "depends on its hyper-parameters"
    conditions = {
        "the pooled data: a comparator, not federated": needs.pooled,
        "one architecture": needs.one_architecture,
        f"{needs.public} public set": needs.public != "none",
        "every client in every round": needs.full_participation,
        "validation samples": needs.validation,
        "classes": needs.classes,
        "a model with a head": needs.head,
    }
    return ", ".join(text for text, yes in conditions.items() if yes) or "nothing"


def _traffic(name: str) -> str:
    sent = _sent(name)
    return formatting.NONE if sent is None else f"{_kinds(sent['down'])} / {_kinds(sent['up'])}"


def _setup(name: str) -> str:
    sent = _sent(name)
    return (
        formatting.NONE if sent is None or not sent["setup"] else f"sends {_kinds(sent['setup'])}"
    )


def _sent(name: str) -> dict[str, dict[str, int]] | None:
    """What the certificate tells of the first case, which is the method by its defaults."""
    conditions = packaged()["methods"].get(name, {}).get("messages", {}).get("sent")
    return conditions[0] if conditions else None


def _kinds(scalars: dict[str, int]) -> str:
    return " + ".join(scalars) or "nothing"
