"""What attackers cost honest clients: an attacked run beside the same one without the attack."""

import sqlite3
from contextlib import closing
from statistics import fmean

import pytest

from fedkin.experiment.run import run
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.damage import damage_sheet, damages
from fedkin.report.comparison.tables import plain, tables_of
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from tests.engine.small import content

FLIP = {"name": "attack", "kind": "sign_flip", "strength": 6.0, "share": 0.34}
COLLUDE = {"name": "attack", "kind": "collude", "share": 0.34}
MEDIAN = {"name": "median"}


def made(folder, method="fedavg", transforms=(), **settings):
    given = content(method, **{"run__rounds": 2, "run__participation": 1.0, **settings})
    return run(parse({**given, "transforms": list(transforms)})[0], folder)


def finals(folder):
    """{client: final personal test accuracy}, and {name: {client: its last note}}."""
    with read_only(folder) as database:
        rows = database.rows(
            "SELECT client, accuracy FROM metrics WHERE view = 'personal' AND split = 'test' "
            "AND round = (SELECT max(round) FROM metrics)"
        )
        notes = database.rows("SELECT name, client, CAST(value AS REAL) FROM notes ORDER BY round")
    of = {}
    for name, client, value in notes:
        of.setdefault(name, {})[client] = value
    return dict(rows), of


def test_the_loss_of_each_honest_client_is_the_difference_of_both_runs(tmp_path):
    plain_run, hurt = made(tmp_path / "plain"), made(tmp_path / "hurt", transforms=[FLIP])
    (found,) = damages(comparison([hurt, plain_run]).seen)
    (before, _), (after, notes) = finals(plain_run), finals(hurt)
    honest = [k for k in before if notes["attacker"][k] == 0]
    assert found.honest == len(honest) == 4
    assert sorted(found.each.values()) == pytest.approx(
        sorted(before[k] - after[k] for k in honest)
    )
    assert found.without == pytest.approx(fmean(before[k] for k in honest))
    assert found.under == pytest.approx(fmean(after[k] for k in honest))
    assert found.group == "all"
    assert found.attackers is None  # the mean says of nobody how much it used
    assert found.without > found.under


def test_where_a_run_is_kept_and_how_often_makes_it_no_other_run(tmp_path):
    plain_run = made(None, run__out=str(tmp_path / "plain"), run__commit_every=1)
    hurt = made(None, transforms=[FLIP], run__out=str(tmp_path / "hurt"), run__commit_every=2)
    (found,) = damages(comparison([hurt, plain_run]).seen)
    assert found.run == "hurt"
    others = made(tmp_path / "others", split__alpha=5.0)  # other data
    assert not damages(comparison([hurt, others]).seen)


def test_a_rule_says_what_part_the_attackers_had(tmp_path):
    clean = made(tmp_path / "clean", transforms=[MEDIAN])
    hurt = made(tmp_path / "hurt", transforms=[FLIP, MEDIAN])
    unlike = made(tmp_path / "unlike")  # without the rule: no counterpart
    assert damages(comparison([hurt, unlike]).seen) == []
    (found,) = damages(comparison([unlike, hurt, clean]).seen)
    notes = finals(hurt)[1]
    kept, hostile = notes["kept"], notes["attacker"]
    part = sum(v for k, v in kept.items() if hostile[k]) / sum(kept.values())
    assert found.attackers == pytest.approx(part)
    assert found.attackers < 0.3


def test_the_attackers_part_is_of_the_last_round_alone(tmp_path):
    """Half of the clients are in a round: what was used of others before is not of its sum."""
    few = {"run__rounds": 4, "run__participation": 0.5}
    clean = made(tmp_path / "clean", transforms=[MEDIAN], **few)
    hurt = made(tmp_path / "hurt", transforms=[FLIP, MEDIAN], **few)
    (found,) = damages(comparison([hurt, clean]).seen)
    hostile = finals(hurt)[1]["attacker"]
    with read_only(hurt) as database:
        kept = dict(
            database.rows(
                "SELECT client, CAST(value AS REAL) FROM notes WHERE name = 'kept' AND round = 4"
            )
        )
    assert len(kept) == 3
    part = sum(v for k, v in kept.items() if hostile.get(k)) / sum(kept.values())
    assert found.attackers == pytest.approx(part)


def test_clusters_are_those_of_the_run_without_the_attack(tmp_path):
    settings = {"run__rounds": 3, "method__clusters": 2}
    clean = made(tmp_path / "clean", "comet", **settings)
    hurt = made(tmp_path / "hurt", "comet", [COLLUDE], **settings)
    found = damages(comparison([clean, hurt]).seen)
    hostile, clusters = finals(hurt)[1]["attacker"], finals(clean)[1]["cluster"]
    sizes = {
        f"cluster {int(c)}": sum(clusters[k] == c and not hostile[k] for k in clusters)
        for c in set(clusters.values())
    }
    assert {one.group: one.honest for one in found} == {
        "all": 4,
        **{name: n for name, n in sizes.items() if n},
    }
    assert found[0].group == "all"


def test_it_is_a_table_of_the_comparison_and_of_its_json(tmp_path):
    clean, hurt = made(tmp_path / "clean"), made(tmp_path / "hurt", transforms=[FLIP])
    both = comparison([clean, hurt])
    (sheet,) = [one for one in tables_of(both) if "attackers cost" in one.title]
    (row,) = sheet.rows
    assert row[:3] == ["hurt", "all", "4"]
    assert len(row) == len(sheet.columns)
    assert row[-1] == "–"
    assert plain(both)["damage"][0]["honest"] == 4
    alone = comparison([clean])
    assert not [one for one in tables_of(alone) if "attackers cost" in one.title]
    assert plain(alone)["damage"] == []
    assert damage_sheet([]).rows == []


def test_what_is_lost_of_an_error_is_what_it_grew(tmp_path):
    told = {"run__measure": "log_loss"}
    hurt = made(tmp_path / "hurt", transforms=[FLIP], **told)
    (found,) = damages(comparison([hurt, made(tmp_path / "plain", **told)]).seen)
    assert found.under > found.without  # the loss grew
    assert fmean(found.each.values()) == pytest.approx(found.under - found.without)
    (row,) = damage_sheet(comparison([hurt, tmp_path / "plain"]).seen).rows
    assert float(row[5]) > 0
    assert row[7] == max(found.each, key=found.each.get)


def test_a_cluster_that_is_no_number_breaks_no_comparison(tmp_path):
    clean, hurt = made(tmp_path / "clean"), made(tmp_path / "hurt", transforms=[FLIP])
    with closing(sqlite3.connect(clean / "run.db")) as connection, connection:
        connection.execute("INSERT INTO notes VALUES (9, 0, 'cluster', 'NaN')")
    assert [one.group for one in damages(comparison([hurt, clean]).seen)] == ["all"]
