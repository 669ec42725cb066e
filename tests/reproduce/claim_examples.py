"""What the tests of claim and of its parts have in common."""

ONE = """
paper = "A paper"
[rows.slow]
of = "ppfl-f8-N2"
set = { "train.lr" = 0.01 }
[rows.fast]
of = "ppfl-f8-{N}"
axes.N = { N3 = { "train.lr" = 0.5 }, N5 = {} }
[[claims]]
id = "more-models"
where = "Figure 8"
says = "More canonical models are better."
note = "Made up."
test = { kind = "above", high = "ppfl-f8-{N}", low = "slow" }
cases.N = ["N3", "N5"]
[[claims]]
id = "as-much-traffic"
where = "Nowhere"
says = "A slow run sends as much."
test = { kind = "ratio", row = "slow", to = "ppfl-f8-N2", at_most = 1.0, measure = "scalars" }
"""


QUICK = [
    f"--set={s}"
    for s in ("run.rounds=2", "engine.name=inprocess", "data.clients=4", "run.evaluate_every=1")
]
