"""What the tests of diagnosis and of its parts have in common."""

QUICK = {
    "engine__name": "inprocess",
    "run__rounds": 4,
    "run__clients": 4,
    "method__name": "local",
    "model__name": "mlr",
}
