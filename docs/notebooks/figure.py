# %% [markdown]
# # Notebook: reproduce a figure
#
# After this page you can make COMET's Figure 2 again: who ends near its own truth.
# %%
import subprocess
import sys
from pathlib import Path

command = [sys.executable, "-m", "fedkin", "reproduce", "comet-figure-2", "--quiet"]
print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
# %% [markdown]
# The page has each number beside the published one. `.html` is the same page with charts.
# %%
page = Path("reproduction/comet-figure-2.md").read_text(encoding="utf-8")
print("\n".join(line for line in page.splitlines() if line.startswith("|")))
