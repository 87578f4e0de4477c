"""The five states of a skill, told apart: being listed is not being used."""

from typing import NamedTuple

LISTED = "listed"  # Named to the model.
CALLED = "called"  # The Skill tool was called with its name, and the call failed.
LOADED = "loaded"  # Its body entered the context.
REINJECTED = "reinjected"  # Its body came again after a compaction.
DROPPED = "dropped"  # Its body left the context and did not come back.
STATES = (LISTED, CALLED, LOADED, REINJECTED, DROPPED)


class SkillState(NamedTuple):
    """What became of one skill in a turn; a skill that is only listed is named in `available`."""

    name: str
    state: str
    source: str | None = None
    tokens: int | None = None  # Of its body, where it is known.
    note: str | None = None
