"""Store campaigns in files and databases, load them again, and guard them against damage and concurrent changes."""
