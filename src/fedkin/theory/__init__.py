"""What the papers prove, as functions: bounds, criteria and special cases, each with
its equation.
"""
