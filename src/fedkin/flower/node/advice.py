"""What to do about a node's file: where fedkin.data advises an option of [data], which a node does
not use, its owner changes the file instead.
"""

import re

# What a sentence of fedkin.data advises → what a node's owner does
INSTEAD = (
    (r": (it is no text|save it as UTF-8), or .*--set data\.encoding.*", ": save it as UTF-8"),
    (r"\? fedkin reads commas, unless --set data\.separator.*", "? Save it with commas"),
    (
        r"(column 'split' is empty): name the client.*",
        r"\1: it says train, val or test of every row",
    ),
    (r", or leave rows without a label out with --set data\.unlabeled.*", ", or leave the row out"),
    (r": --set 'data\.drop=.*", ""),
    (r": correct it, .*--set .*", ": correct it, or turn words into numbers, alike on all nodes"),
    (
        r" has no client column 'split'(: did you mean '.*'\? N|: n)ame it with --set data\.client="
        r"COLUMN",
        " has no column 'split': it says train, val or test of every row",
    ),
    (
        r"ame it with --set data\.label=COLUMN",
        "ame it so in the file, as [data] label of the experiment has it",
    ),
)
INSTEAD_OF = tuple((re.compile(advised, re.DOTALL), to_do) for advised, to_do in INSTEAD)


def on_a_node(sentence: str) -> str:
    """An error about a data file, for the owner of a node.

    Args:
        sentence: As fedkin.data says it.

    Returns:
        It, without an option of the command line.
    """
    for advised, to_do in INSTEAD_OF:
        advice, times = advised.subn(to_do, sentence, count=1)
        if times:
            return advice
    return sentence
