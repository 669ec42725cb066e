"""What trackers are given of a run: numbers by round, when each round ended, and settings."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from fedkin.report.ledger import bytes_by_round
from fedkin.report.records import Run
from fedkin.report.scores import curves, measure_of
from fedkin.report.summary import of_run
from fedkin.runs.directory import RECORD


def scalars(run: Run) -> Iterator[tuple[str, int, float]]:
    """Accuracy, the loss and the experiment's measure by view (mean on test, weighted on
    validation), seconds and bytes, round by round.

    Args:
        run: An open run.

    Yields:
        (name, round, value): accuracies are fractions 0..1, losses means per sample, "seconds" and
        "bytes" those of a round. A client whose loss is no finite number is in no mean of losses:
        "diverged" is how many there are, where a view has any.
    """
    for measure in dict.fromkeys(("accuracy", measure_of(run), "loss")):
        for view, curve in curves(run, measure).items():
            for at, validation, test in zip(
                curve.rounds, curve.validation, curve.test, strict=True
            ):
                if test is not None:
                    yield f"test_{measure}/{view}", at, test
                if validation is not None:
                    yield f"validation_{measure}/{view}", at, validation
    yield from _diverged(run)
    for at, seconds in _seconds(run).items():
        yield "seconds", at, seconds
    for at, (_, sent) in bytes_by_round(run).items():
        yield "bytes", at, float(sent)


def times(run: Run) -> dict[int, float]:
    """When each round ended, by what the rounds took: a record knows no clock, so the last one
    ended when the record was last written.

    Args:
        run: An open run.

    Returns:
        {round: seconds since 1970}, of every round that has a number; pauses before a resume are
        in none.
    """
    took = _seconds(run)
    until = dict(zip(took, accumulate(took.values()), strict=True))
    end = (run.folder / RECORD).stat().st_mtime
    whole = max(until.values(), default=0.0)
    return {at: end - whole + spent for at, spent in until.items()}


def settings(run: Run) -> dict[str, Any]:
    """Every key of the specification with its section, and the method.

    Args:
        run: An open run.

    Returns:
        {"section.key": value}, and "method".
    """
    by_key: dict[str, Any] = {"method": of_run(run)["method"]}
    for section, content in (run.facts.get("spec") or {}).items():
        if section != "transforms":
            by_key |= {f"{section}.{key}": value for key, value in content.items()}
            continue
        for number, one in enumerate(content, 1):
            by_key |= {f"transforms.{number}.{key}": value for key, value in one.items()}
    return by_key


def name_of(run: Run) -> str:
    """What trackers call a run: its folder's name, also of one that was typed as ".".

    Args:
        run: An open run.

    Returns:
        One name.
    """
    return run.folder.resolve().name


def _seconds(run: Run) -> dict[int, float]:
    rounds = [at for (at,) in run.rows("SELECT round FROM rounds ORDER BY round")]
    return {
        at: parts.get("total", 0.0) for at, (_, parts) in zip(rounds, run.seconds(), strict=True)
    }


def _diverged(run: Run) -> Iterator[tuple[str, int, float]]:
    """("diverged/VIEW", round, how many clients have no finite test loss) of views with any."""
    rows = run.rows(
        "SELECT m.view, m.round, sum(m.loss IS NULL) FROM metrics m JOIN clients c "
        "ON c.client = m.client WHERE m.split = 'test' AND c.test > 0 GROUP BY m.view, m.round "
        "ORDER BY m.view, m.round"
    )
    spoiled = {view for view, _, count in rows if count}
    for view, at, count in rows:
        if view in spoiled:
            yield f"diverged/{view}", at, float(count)
