"""The commands, each in a file of its own or with those that belong together.

None of them imports a slow module before it is called, so that help and completion come at once.
"""
