"""COMET's linear-regression toy (Fig. 2): who ends near its own truth?

    python examples/linear_toy.py [FIGURE.png] [SEED]

Prints the distance of every client's model to its true model, and draws the models as points in the
plane.
"""

import sys
from pathlib import Path

import altair as alt
import pandas as pd
import vl_convert

from fedkin.theory.linear_toy import Toy, toy

STYLES = {
    "true model": ("#1b1b1b", "cross"),
    "FedAvg": ("#d1495b", "square"),
    "KT without clustering": ("#e9a23b", "triangle-up"),
    "KT with clustering": ("#2a7fb8", "circle"),
}


NAMES = {
    "local": "local least squares",
    "fedavg": "FedAvg",
}  # of the table's rows that have other names in `theory`
WHY = """\
Plain local least squares is nearer than clustering for clients 0 and 1: λ = 50, as in the paper,
is far above the best one (λ*), so that their cluster's mean nearly replaces what their own samples
say. Client 2 is a cluster of its own."""


def points(result: Toy) -> pd.DataFrame:
    """One row a client and method: the two coefficients of its model."""
    models = dict(
        zip(STYLES, (result.true, result.fedavg, result.plain, result.clustered), strict=True)
    )
    return pd.DataFrame(
        {"method": method, "client": f"client {k}", "w₁": w[0], "w₂": w[1]}
        for method, rows in models.items()
        for k, w in enumerate(rows)
    )


def figure(result: Toy) -> alt.HConcatChart:
    """All models on the left; clients 0 and 1, which are kin, enlarged on the right."""
    table = points(result)
    kin = table[
        table.client.isin(["client 0", "client 1"])
        & table.method.isin(["true model", "KT with clustering"])
    ]
    # From afar clients 0 and 1 are one spot: one label serves both.
    far = table.replace({"client": {"client 0": "clients 0 and 1", "client 1": ""}})
    return alt.hconcat(
        _plane(far, "All clients"), _plane(kin, "Clients 0 and 1: truth and KT with clustering")
    ).configure_view(stroke="#cccccc")


def _plane(table: pd.DataFrame, title: str) -> alt.LayerChart:
    names, colours, shapes = (
        list(STYLES),
        [c for c, _ in STYLES.values()],
        [s for _, s in STYLES.values()],
    )
    base = alt.Chart(table, title=title, width=380, height=340).encode(
        x=alt.X("w₁:Q", scale=alt.Scale(zero=False, nice=True, padding=45)),
        y=alt.Y("w₂:Q", scale=alt.Scale(zero=False, nice=True, padding=25)),
    )
    marks = base.encode(
        color=alt.Color("method:N", title=None, scale=alt.Scale(domain=names, range=colours)),
        shape=alt.Shape("method:N", title=None, scale=alt.Scale(domain=names, range=shapes)),
    )
    true = alt.datum.method == "true model"
    return alt.layer(
        marks.mark_point(filled=True, size=150, opacity=0.85).transform_filter(~true),
        marks.mark_point(filled=True, size=60).transform_filter(
            true
        ),  # on top, so that estimates do not hide it
        base.mark_text(dy=-14, fontSize=11).encode(text="client:N").transform_filter(true),
    )


def main(path: str = "linear_toy.png", seed: str = "0") -> None:
    """Prints the distances and writes the figure as PNG, or as SVG where the path says so."""
    result = toy(int(seed))
    print(
        f"{'distance to own truth':24}" + "".join(f"client {k:<6}" for k in range(len(result.true)))
    )
    for method, distances in result.distances().items():
        print(f"{NAMES.get(method, method):24}" + "".join(f"{d:<13.2f}" for d in distances))
    print(WHY)
    spec = figure(result).to_json()
    if path.endswith(".svg"):
        Path(path).write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    else:
        Path(path).write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    print(f"figure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
