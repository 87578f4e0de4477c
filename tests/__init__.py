"""Tests mirror the packages; a test's name is what it promises."""
