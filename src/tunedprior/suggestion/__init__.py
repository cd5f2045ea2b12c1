"""Suggestions as pure functions: response models, first settings, the next setting, recommendation, stopping."""
