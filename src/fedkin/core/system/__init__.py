"""The operating system: folders of one user, folders for a while, and what Windows has not; code of
somebody's own, and digests of what a run was made of.
"""
