"""How fast: each file measures one thing, `parts` lists them, `report` and `targets` tell what was found."""
