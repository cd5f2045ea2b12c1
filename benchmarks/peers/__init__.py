"""What people would use instead, each in an environment that suits it, behind one small language of lines.

Peers cannot all be installed together, so each runs in a process of its own. Nothing here but `kinds` imports anything
that a bare environment with NumPy lacks: `serving` is run by the interpreter of the peer's environment.
"""
