"""Explanations: what was learnt from old data, why a setting is suggested, and the trust in old data."""
