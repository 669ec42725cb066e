# %% [markdown]
# # Notebook: first steps
#
# After this page you can run experiments from a notebook and see whether federating helped.
# %%
from fedkin import Experiment

shared = {
    "data": "digits",
    "split": "dirichlet",
    "clients": 10,
    "rounds": 10,
    "engine": "inprocess",
}
experiment = Experiment("ditto", **shared, **{"split.alpha": 0.3, "split.floor": 20})
experiment
# %% [markdown]
# A result shows itself: its numbers, and the chart that its report begins with.
# %%
ditto = experiment.run(progress=True)
ditto
# %%
local = Experiment("local", **shared, **{"split.alpha": 0.3, "split.floor": 20}).run()
ditto.compare(local)
# %% [markdown]
# Everything tabular is a DataFrame.
# %%
last = ditto.metrics.query("split == 'test' and view == 'personal'").groupby("client").last()
last[["loss", "accuracy"]].round(3)
