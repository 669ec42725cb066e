"""What the tests of privacy and of its parts have in common."""

import dp_accounting
from dp_accounting.pld import PLDAccountant


def library(noise, share, delta, rounds):
    event = dp_accounting.GaussianDpEvent(noise)
    if share < 1:
        event = dp_accounting.PoissonSampledDpEvent(share, event)
    return PLDAccountant().compose(event, rounds).get_epsilon(delta)
