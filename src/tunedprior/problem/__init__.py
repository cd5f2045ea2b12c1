"""The problem as users state it: what may be set, what was told, what old data there is."""
