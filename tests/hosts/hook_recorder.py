"""A hook that writes down what it is given and answers by a policy.

hook_recorder.py LOG POLICY    LOG gets one JSON line a call: {event, payload, answer}

The policy is a JSON file: event name to the answers to give, one after the other; then none. An
answer is {"json": ..., "stderr": "...", "exit": N, "repeat": N}, all of it optional.
"""

import fcntl
import json
import sys
from typing import Any


def main() -> int:
    """Answer one call; the exit code is the answer's."""
    log, policy = sys.argv[1:]
    payload = json.load(sys.stdin)
    with open(policy, encoding="utf-8") as file:
        answers = expanded(json.load(file).get(payload["hook_event_name"], []))
    answer = record(log, payload, answers)
    if "json" in answer:
        sys.stdout.write(json.dumps(answer["json"]))
    sys.stderr.write(answer.get("stderr", ""))
    return int(answer.get("exit", 0))


def expanded(answers: list[Any]) -> list[Any]:
    return [answer for answer in answers for _ in range(answer.get("repeat", 1))]


def record(log: str, payload: Any, answers: list[Any]) -> Any:
    """Append the call to the log and give its answer; hooks may run beside each other."""
    with open(log, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        event = payload["hook_event_name"]
        before = sum(json.loads(line)["event"] == event for line in file)
        answer = answers[before] if before < len(answers) else {}
        row = {"event": event, "payload": payload, "answer": answer}
        file.write(json.dumps(row) + "\n")
    return answer


if __name__ == "__main__":
    sys.exit(main())
