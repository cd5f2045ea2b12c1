"""The same optimisation inside other people's tools: each module needs the extra of its name, and nothing else does."""
