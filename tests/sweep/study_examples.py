"""What the tests of study and of its parts have in common."""

QUICK = [
    f"--set={s}"
    for s in (
        "engine.name=inprocess",
        "run.rounds=2",
        "run.clients=4",
        "model=mlr",
        "method=fedavg",
    )
]
