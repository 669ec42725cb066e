"""fedkin beside other simulators: the same data, model, steps and evaluation, on the same machine,
in turn.
"""
