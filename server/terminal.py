"""Asks whoever sits at the controlling terminal, whom an agent's shell cannot stand in for."""

from core.errors import NotHuman

TERMINAL = "/dev/tty"  # Not stdin: an agent could pipe the answer in.


def require_human(act: str, phrase: str) -> None:
    """Have a phrase typed on the terminal; raise NotHuman when nobody is there or types another."""
    try:
        with open(TERMINAL, "r+b", buffering=0) as terminal:
            terminal.write(f'To {act}, type "{phrase}": '.encode())
            typed = terminal.readline(1024).decode("utf-8", "replace").strip()
    except OSError:
        raise NotHuman(
            f"to {act} needs a human, and this command has no terminal",
            hint="Run it in a terminal of your own, or use the editor.",
        ) from None
    if typed != phrase:
        raise NotHuman(f"to {act} needs the phrase {phrase!r}", hint="Nothing has changed.")
