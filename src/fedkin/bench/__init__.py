"""The leaderboard: a suite of experiments, equal budgets for every method, rows that anybody can
rerun.
"""
