"""What a campaign may be after beyond one best value: fronts, requirements, mixtures, a target, advice, an end."""
