"""Use the package inside other tools. Each module needs the extra of its name; nothing else does."""
