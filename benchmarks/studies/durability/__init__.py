"""Whether what was acknowledged is kept, once and as it was told, whatever happens at the same moment."""
