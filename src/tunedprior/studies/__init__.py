"""Optuna studies as a place to keep things: what was told, and what was learnt from old data."""
