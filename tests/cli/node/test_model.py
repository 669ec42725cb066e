"""``fedkin deploy predict``: what it refuses before it looks at the node."""

from tests.cli.command import told


def test_what_raw_rows_alone_have_is_refused_of_others() -> None:
    for more in (("--separator", ";"), ("--times", "bmi=2")):
        sentence = told("deploy", "predict", "node", "--data", "node/data.csv", *more)
        assert sentence.endswith("are of raw rows: give --columns, too")
