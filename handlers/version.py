"""The version of Turnkeeper; pyproject.toml reads it from here."""

VERSION = "0.1.0"
