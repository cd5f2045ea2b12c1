"""What is optimised: test functions with old data of every kind, measured pairs, simulated fibres."""
