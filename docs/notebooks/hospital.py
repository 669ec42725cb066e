# %% [markdown]
# # Notebook: my hospital's table
#
# After this page you can go from a table to a model for one hospital.
# %%
import numpy as np
import pandas as pd

from fedkin import Experiment

rng = np.random.default_rng(0)
hospital = rng.integers(0, 8, 640)
age, crp = rng.integers(20, 95, 640), rng.gamma(2, 20, 640).round()
risk = np.where(hospital % 2, 1, -1) * (age - 57) / 10 + (crp - 40) / 30
patients = pd.DataFrame(
    {"hospital": [f"H{k}" for k in hospital], "age": age, "crp": crp, "readmitted": risk > 0}
)
patients.head()
# %% [markdown]
# Look before you run: what is in the table, and what looks wrong.
# %%
experiment = Experiment(
    "finetune", data=patients, client="hospital", label="readmitted", rounds=10, engine="inprocess"
)
found = experiment.check()
found["samples"], found["clients"]["count"], [one["says"] for one in found["problems"]]
# %%
result = experiment.run(progress=True)
result
# %% [markdown]
# The model of one hospital, asked about its patients.
# %%
answers = result.predict("H3", patients.query("hospital == 'H3'").head(5))
answers
