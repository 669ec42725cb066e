"""A worker of a process pool ends with the process that made the pool, killed or not.

Workers that are called through a line end when it hangs up. A pool's workers hold both ends of
its queue themselves, so they would wait for ever for a task: they listen to a line of their own.
"""

import os
from multiprocessing import parent_process
from threading import Thread


def end_with_parent() -> None:
    """The initializer of a pool: this process ends at once when its parent does."""
    Thread(target=_wait, name="fedkin-parent", daemon=True).start()


def _wait() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
