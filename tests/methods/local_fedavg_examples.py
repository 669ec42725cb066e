"""What the tests of local_fedavg and of its parts have in common."""

WORK = {
    "epochs": {"epochs": 2},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {
        "epochs": 1,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}
