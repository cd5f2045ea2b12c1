"""One file for each command, or for a few that belong together.

None of them imports anything that takes long before it is called, so that help and completion come at once.
"""
