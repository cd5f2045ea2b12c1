"""The search space: parameters, constraints, settings that satisfy them, and their encoding."""
