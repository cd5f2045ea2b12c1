"""Tools for work on the package itself; nothing here is installed."""
