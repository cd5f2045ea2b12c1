"""The peers: each takes a `Task`, chooses settings and learns what they gave. A module is imported where it is run."""
