"""Suggestions as pure functions of a history: models, initial design, next setting, recommendation, stopping."""
