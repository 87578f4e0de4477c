"""A Stop hook that blocks the first stop of a recording and lets every later one pass.

stop_policy.py MARKER    MARKER is a file that says that the one block was given
"""

import json
import os
import sys

REASON = "RELEASE.md is not there yet, and the release-notes skill was not opened. Do both first."


def main() -> None:
    """Answer one hook call; an empty answer lets the turn end."""
    sys.stdin.read()
    marker = sys.argv[1]
    if os.path.exists(marker):
        return
    with open(marker, "w", encoding="utf-8"):
        sys.stdout.write(json.dumps({"decision": "block", "reason": REASON}))


if __name__ == "__main__":
    main()
