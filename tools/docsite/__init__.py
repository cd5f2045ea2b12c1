"""What the documentation site is made with, besides mkdocs.yml."""
