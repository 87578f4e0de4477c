"""Measurements; `make bench` prints them, and no test depends on them."""
