"""``python -m fedkin``: the same as the console script."""

import os
import sys

if __name__ == "__main__":
    here = os.path.realpath(sys.path[0]) if sys.path else ""
    if (
        not sys.flags.safe_path
        and os.path.dirname(os.path.dirname(os.path.realpath(__file__))) != here
    ):
        # the current folder: no file there stands in for a library (find_user_code)
        del sys.path[0]
    from fedkin.cli.app import main

    main()
