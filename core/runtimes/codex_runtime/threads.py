"""The threads that the raw events of one session are about."""

from core.recordings.contract import AgentSeen, Head, Step
from core.runtimes.codex_runtime.story import Story


class Threads:
    """The thread of the session, and those of its sub-agents by their ids."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self.main = Story(head)
        self._agents: dict[str, Story] = {}
        self._seen: list[str] = []

    def agent(self, agent_id: str) -> Story:
        """Give the story of a sub-agent."""
        story = self._agents.get(agent_id)
        if story is None:
            story = self._agents[agent_id] = Story(self.head, agent_id, self.main)
            self._seen.append(agent_id)
        return story

    def is_agent(self, thread: str) -> bool:
        """Say whether a thread is known as a sub-agent's."""
        return thread in self._agents

    def at(self, line: int) -> None:
        """Say which line the following comes from."""
        self.main.at(line)
        for story in self._agents.values():
            story.at(line)

    def take(self, line: int) -> list[Step]:
        """Give what was gathered; a sub-agent is told of before anything of it."""
        if not self._agents:
            return self.main.take()
        steps = [Step(line, AgentSeen(agent_id)) for agent_id in self._seen]
        self._seen = []
        steps += self.main.take()
        for story in self._agents.values():
            steps += [step._replace(line=line) for step in story.take()]
        return steps
