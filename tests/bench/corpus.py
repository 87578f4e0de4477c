"""A corpus of transcripts, made of samples that are replicated with fresh ids.

    python -m tests.bench.corpus SAMPLES OUT [--megabytes 200] [--seed 1]

OUT is then laid out as Claude Code's own folder is: OUT/projects/<project>/<session>.jsonl.
"""

import argparse
import datetime
import glob
import json
import os
import random
import re
import uuid
from collections import Counter
from itertools import cycle
from typing import NamedTuple

SAMPLE_BYTES_MIN = 20_000  # What is smaller was made for a single case.
MEGABYTES = 200
DAYS_MAX = 240  # A copy is dated so many days later at most, lest it lies in the future.

_UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MODEL_ID = rb"(?:msg|req|toolu)_[A-Za-z0-9]{8,}"
_DATE = rb"\d{4}-\d\d-\d\d(?=T\d\d:\d\d:\d\d)"
_FRESH = re.compile(b"(" + b"|".join((_UUID, _MODEL_ID, _DATE)) + b")")
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"


class Corpus(NamedTuple):
    """What was written."""

    projects: str  # The folder with all transcripts in it.
    files: int
    size_bytes: int
    lines: int


class _Sample(NamedTuple):
    pieces: list[bytes]  # Every second one is an id or a date.
    marks: list[bytes]  # Those, each once.
    session_id: bytes
    project: str
    lines: int


def build(samples: str, out: str, size_bytes: int = MEGABYTES * 1_000_000, seed: int = 1) -> Corpus:
    """Write copies in turn until they hold `size_bytes`; the same seed gives the same bytes."""
    chance = random.Random(seed)
    files = written = lines = copy = 0
    found = _read_samples(samples)
    for index, sample in cycle(enumerate(found)):
        if written >= size_bytes:
            break
        if index == 0:
            copy += 1
        fresh = {mark: _fresh(mark, chance, copy) for mark in sample.marks}
        folder = os.path.join(out, "projects", sample.project)
        os.makedirs(folder, exist_ok=True)
        name = fresh.get(sample.session_id, _fresh_uuid(chance)).decode() + ".jsonl"
        pieces = sample.pieces.copy()
        pieces[1::2] = [fresh[mark] for mark in sample.pieces[1::2]]
        with open(os.path.join(folder, name), "wb") as file:
            written += file.write(b"".join(pieces))
        files += 1
        lines += sample.lines
    return Corpus(os.path.join(out, "projects"), files, written, lines)


def largest(samples: str) -> str:
    """Give the path of the largest sample."""
    return max(_paths(samples), key=os.path.getsize)


def _read_samples(folder: str) -> list[_Sample]:
    return [_read_sample(path) for path in _paths(folder)]


def _paths(folder: str) -> list[str]:
    claude = glob.glob(os.path.join(folder, "cc-*.jsonl"))  # What all programs can read.
    paths = sorted(claude or glob.glob(os.path.join(folder, "*.jsonl")))
    found = [path for path in paths if os.path.getsize(path) >= SAMPLE_BYTES_MIN]
    if not found:
        raise SystemExit(f"{folder}: no *.jsonl of {SAMPLE_BYTES_MIN} bytes or more")
    return found


def _read_sample(path: str) -> _Sample:
    with open(path, "rb") as file:
        data = file.read()
    sessions: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    for line in data.splitlines():
        row = json.loads(line)
        sessions[row.get("sessionId") or ""] += 1
        folders[row.get("cwd") or ""] += 1
    pieces = _FRESH.split(data)
    return _Sample(
        pieces,
        sorted(set(pieces[1::2])),
        max(sessions, key=lambda name: (name != "", sessions[name])).encode(),
        re.sub("[^A-Za-z0-9]", "-", max(folders, key=lambda name: (name != "", folders[name]))),
        data.count(b"\n"),
    )


def _fresh(mark: bytes, chance: random.Random, copy: int) -> bytes:
    """Give an id of the same shape and length, or the date of this copy."""
    if mark[4:5] == b"-":
        date = datetime.date.fromisoformat(mark.decode())
        return (date + datetime.timedelta(copy % DAYS_MAX)).isoformat().encode()
    prefix, mid, rest = mark.partition(b"_")
    if not mid:
        return _fresh_uuid(chance)
    return prefix + mid + "".join(chance.choices(_ALPHABET, k=len(rest))).encode()


def _fresh_uuid(chance: random.Random) -> bytes:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4)).encode()


def main() -> None:
    """Build one for hand use, and say what it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("samples", help="Folder with *.jsonl")
    parser.add_argument("out", help="Folder that is made; give it to others as CLAUDE_CONFIG_DIR")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    made = build(options.samples, options.out, options.megabytes * 1_000_000, options.seed)
    print(f"{made.files} files, {made.size_bytes:,} bytes, {made.lines:,} lines: {made.projects}")


if __name__ == "__main__":
    main()
