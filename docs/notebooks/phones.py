# %% [markdown]
# # Notebook: phones with different models
#
# After this page you can give clients different architectures and let them learn from each other's
# predictions (COMET).
# %%
from fedkin import Experiment
from fedkin.report import frames

shared = {
    "data": "digits",
    "split": "dirichlet",
    "clients": 10,
    "rounds": 8,
    "seed": 2,
    "public": "held-out",
    "engine": "inprocess",
    "split.alpha": 0.3,
    "split.floor": 20,
    "model.map": {"old": "mlr", "usual": "dnn:hidden=32"},
    "model.rule": "random",
    "model.shares": [0.4, 0.6],
}
alone = Experiment("local", **shared).run()
together = Experiment("comet", **shared, method__clusters=3, method__lam=0.3).run(progress=True)
together
# %%
together.compare(alone)
# %% [markdown]
# Predictions went up, no parameters.
# %%
together.communication.groupby("direction")[["parameters", "predictions"]].sum()
# %%
kinds = frames.clients(together.folder).set_index("client")["architecture"]
last = together.metrics.query("split == 'test' and view == 'personal'").groupby("client").last()
last["accuracy"].groupby(kinds).agg(["mean", "count"]).round(3)
