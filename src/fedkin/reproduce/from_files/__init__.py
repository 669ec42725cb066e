"""What is read from files where the runs behind the claims are not here: verdicts that were reached
before, and finished rows at the papers' own scale.
"""
