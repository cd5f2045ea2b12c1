"""Explanations: what old data taught, why a setting is suggested, how far old data is trusted."""
