"""What files tell of the claims where the runs are not here: verdicts that were reached before, and
finished rows at the papers' own scale.
"""
