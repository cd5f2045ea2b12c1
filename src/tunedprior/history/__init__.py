"""Trials and their history: as values, as tables, and parsed from user input."""
