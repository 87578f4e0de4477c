"""How many tokens a text, a call or a file is, without a tokenizer and always the same.

Four UTF-16 units, or four bytes of a file, are one token, rounded up. Right values:
tests/conformance/accounting.json.
"""

ESTIMATOR = "utf16/4"  # The name of this estimate, as snapshots carry it.
UNITS_PER_TOKEN = 4
BYTES_PER_TOKEN = 4
TOKENS_MAX = 2**53  # A sum above it says no more than this; every JSON reader holds it exactly.


def call_tokens(units: int) -> int:
    """Estimate the tokens of one tool call from the UTF-16 units of its input and result."""
    return -(-units // UNITS_PER_TOKEN)


def file_tokens(size_bytes: int) -> int:
    """Estimate the tokens of one whole file from its size in bytes."""
    return -(-size_bytes // BYTES_PER_TOKEN)
