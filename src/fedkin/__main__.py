"""``python -m fedkin``: the same as the console script."""

from fedkin.cli.app import main

if __name__ == "__main__":
    main()
