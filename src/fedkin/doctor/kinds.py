"""What kind a method is, by what a client ends with."""

from collections.abc import Collection, Sequence

# methods with … → their names. Every method that federates is in one; one's own methods in none
KINDS = {
    "one model for all": ("fedavg", "feddf", "feddyn", "fedntd", "fedprox", "moon", "scaffold"),
    "a shared model fitted at home": ("feddbe", "fedrod", "finetune", "knn_per", "per_fedavg"),
    "layers of one's own": (
        "fedas",
        "fedbabu",
        "fedbn",
        "fedcp",
        "fedpac",
        "fedper",
        "fedrep",
        "fedsim",
        "gpfl",
        "lg_fedavg",
        "partial_fl",
        "perada",
    ),
    "a model of one's own": (
        "apfl",
        "comet",
        "ditto",
        "ds_fl",
        "fedala",
        "fedamp",
        "fedfomo",
        "fedkd",
        "fedmd",
        "fedproto",
        "fedtgp",
        "fedu",
        "kt_pfl",
        "l2sgd",
        "persfl",
        "pfedme",
    ),
    "a group's model or a mixture": (
        "cgpfl",
        "cgpfl_heur",
        "clustered_fl",
        "fedem",
        "hypcluster",
        "ifca",
        "ppfl",
    ),
}
FEW = 4  # of all methods: less than a quarter is said as what is left out
FEDERATED = tuple(sorted(name for names in KINDS.values() for name in names))


def in_words(methods: Collection[str]) -> str:
    """Many methods in a short sentence: a kind by its name where most of it is among them.

    Args:
        methods: Names of methods, which ``KINDS`` knows.

    Returns:
        Such as "methods with one model for all (not moon), and ditto".
    """
    left = [name for name in FEDERATED if name not in methods]
    if len(left) < len(FEDERATED) / FEW:
        return "methods that federate" + _but(left)
    kinds, single = [], []
    for kind, names in KINDS.items():
        named = [name for name in names if name in methods]
        others = [name for name in names if name not in methods]
        if len(named) > len(others) + 1:
            kinds.append(kind + _but(others))
        else:
            single += named
    words = [f"methods with {listed(kinds, 'or')}"] if kinds else []
    return ", and ".join([*words, *([listed(single)] if single else [])])


def _but(others: Sequence[str]) -> str:
    return f" (not {', '.join(others)})" if others else ""


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names in a sentence.

    Args:
        names: One or more.
        word: Before the last one.

    Returns:
        "a", "a and b", "a, b and c".
    """
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
