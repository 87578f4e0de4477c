"""What is told of one thread so far, so that nothing is told twice whichever rows tell it."""

from collections.abc import Iterator

from core.events import (
    Compaction,
    Context,
    Event,
    Fill,
    Request,
    SelectedSkill,
    Skill,
    SkillListing,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from core.recordings.contract import NOT_RECORDED, Head, Step
from core.runtimes.codex_runtime import calls, outputs, skill_reads, tokens
from core.runtimes.codex_runtime.calls import Answer, Call
from core.runtimes.codex_runtime.skill_reads import SkillRead
from core.runtimes.codex_runtime.tokens import Ledger, Tokens
from core.runtimes.codex_runtime.turns import Told, Turns
from core.units import utf16_units


class Story:
    """Takes what the rows say and keeps the steps to give; of a sub-agent with its `agent_id`."""

    def __init__(
        self, head: Head, agent_id: str | None = None, parent: "Story | None" = None
    ) -> None:
        self.cwd = head.cwd
        self._thread = agent_id or head.session_id
        self.turns = Turns(is_human=not head.side_only)
        self.has_items = False  # Response items are told: nothing else tells of calls and texts.
        self.has_bounds = False  # Rows tell when the model has answered.
        self.window: int | None = None  # Tokens, as last reported.
        self.ledger = Ledger()
        self.base_instructions = ""
        self._agent_id = agent_id
        self._parent = parent
        self._line = 0
        self._steps: list[Step] = []
        self._calls: set[str] = set()
        self._left_out: set[str] = set()  # Calls that are told by another call, or not at all.
        self._answers: set[str] = set()
        self._failed: set[str] = set()  # Calls that an item says have failed.
        self._reads: dict[str, list[SkillRead]] = {}  # By call, until it is answered.
        self._loaded: dict[str, str] = {}  # Skills in the context: the paths of their files.
        self._said: set[str] = set()  # Ids of messages.
        self._prompts: dict[tuple[str, int], str] = {}  # (turn, hash of the text): who told it.
        self._asked_by = ""  # Who tells of requests: the rows, or hooks.
        self._is_asked = False  # What the model writes now belongs to a request that is told.
        self._requests: set[str] = set()
        self._is_answering = False  # That request's usage is not told yet.
        self._compactions: dict[str, dict[str, int]] = {}  # Stage: teller: how many it told of.
        self._script_calls = ""  # Of scripts that call tools: "outer" or "inner" ones are told.
        self._unnamed_calls = 0

    def at(self, line: int) -> None:
        """Say which line the following comes from."""
        self._line = line

    def take(self) -> list[Step]:
        """Give the steps that were gathered."""
        steps, self._steps = self._steps, []
        return steps

    def tell(self, event: Event, recorded: str = NOT_RECORDED) -> None:
        """Give an event; of a sub-agent those that can say whose they are."""
        if self._agent_id is not None:
            if "agent_id" not in event._fields:
                return
            event = self._of_agent(event)
        self._steps.append(Step(self._line, event, recorded))

    def _of_agent(self, event: Event) -> Event:
        """Its turns are its own: what it does belongs to the turn of the session."""
        turn_id = None if self._parent is None else self._parent.turns.id
        if isinstance(event, ToolCall):
            return event._replace(agent_id=self._agent_id, turn_id=turn_id)
        if isinstance(event, TurnEnd):
            return event._replace(agent_id=self._agent_id, turn_id=turn_id or event.turn_id)
        return event._replace(agent_id=self._agent_id)  # type: ignore[call-arg]

    def follow(self, told: Iterator[Told]) -> None:
        """Give what the turns tell."""
        for event, recorded in told:
            self.tell(event, recorded)

    def enter(self, turn_id: str) -> bool:
        """Say whether what comes belongs to the open turn, which may be a new one."""
        if turn_id:
            was = self.turns.id
            self.follow(self.turns.enter(turn_id))
            if self.turns.id != was:
                self._is_asked = self._is_answering = False
        return not turn_id or self.turns.id == turn_id

    # Texts.

    def prompt(
        self, text: str, turn_id: str, teller: str, skills: tuple[SelectedSkill, ...] = ()
    ) -> None:
        """A prompt reached the model; another teller's word about it adds nothing."""
        if not self.enter(turn_id):
            return
        named = turn_id or (self.turns.id or "" if self.turns.has_ids else "")
        if self._prompts.setdefault((named, hash(text)), teller) != teller:
            return
        self._is_asked = self._is_answering = False
        self.follow(self.turns.prompt(text, skills, is_named=bool(turn_id)))

    def say(self, by: str, text: str, message_id: str = "") -> None:
        """A text in the conversation."""
        if message_id:
            if message_id in self._said:
                return
            self._said.add(message_id)
        if by in ("model", "thinking"):
            self.ask()
            if by == "model":
                self.turns.answer(text)
            else:
                self.turns.act()
        else:
            self.put_in()
        if text:
            self.tell(Spoken(by, text))

    def list_skills(self, names: tuple[str, ...]) -> None:
        """Skills are named to the model."""
        if names:
            self.tell(SkillListing(names, is_initial=True))

    def supply(self, kind: str, source: str, text: str, detail: str | None = None) -> None:
        """Codex put a text into the context whose kind is known."""
        if text:
            self.tell(Context(kind, source, utf16_units(text), detail=detail))

    def load_skill(self, name: str, path: str, text: str) -> None:
        """Codex put a skill into the context."""
        self._loaded[name] = path
        self.tell(Skill(name, "loaded", path or None, utf16_units(text)))

    def keep_skills(self, kept: dict[str, int]) -> None:
        """A compaction kept these skills, with their units, and no other."""
        for name, path in list(self._loaded.items()):
            if name in kept:
                self.tell(Skill(name, "reinjected", path or None, kept[name]))
            else:
                del self._loaded[name]
                self.tell(Skill(name, "dropped", path or None))

    # Requests and their usage.

    def ask(self) -> None:
        """The model writes: a request began, unless one is told already."""
        if not self._is_asked and self._asked_by in ("", "rows"):
            self._asked_by = "rows"
            self.follow(self.turns.prompted())
            self.tell(Request())
            self._is_answering = True
        self._is_asked = True

    def ask_by_hook(self, request_id: str) -> None:
        """A hook tells of a request."""
        if self._asked_by not in ("", "hooks") or request_id in self._requests:
            return
        self._asked_by = "hooks"
        self._requests.add(request_id)
        self.follow(self.turns.prompted())
        self.turns.act()
        self.tell(Request(request_id or None))

    def put_in(self) -> None:
        """Something is put in for the next request.

        Hooks' words and the answers of quick tools are put in while the model still answers: where
        rows tell when it has ended, only they end it.
        """
        if not (self.has_bounds and self._is_answering):
            self._is_asked = False

    def end_response(self) -> None:
        """A row says that the model has answered."""
        self.has_bounds = True
        self._is_asked = self._is_answering = False

    def ask_nothing(self) -> None:
        """These rows do not show where a request begins."""
        self._asked_by = self._asked_by or "nobody"

    def used_response(self, response_id: str, found: Tokens, request_id: str = "") -> None:
        """A response's usage, by its id."""
        if self.ledger.is_new_response(response_id, found):
            named = request_id if request_id in self._requests else ""
            self._use(found, response_id, named)

    def used_total(self, total: Tokens | None, last: Tokens, source: str) -> None:
        """The usage of the last response beside the running total of the thread.

        After a compaction the last one is no response: its total alone is what is left.
        """
        if last.input or last.output:
            if self.ledger.is_new_total(total, last):
                # A running total comes once in a thread, also in a copy of its rollout and to a
                # reader that begins anew: it names the response.
                named = "" if total is None else f"{self._thread}/{total.total}"
                self._use(last, named, "")
        elif last.total and self.ledger.is_new_estimate(total, last):
            self.compacted(source)
            self.tell(Fill(last.total, self.window, source))

    def _use(self, found: Tokens, response_id: str, request_id: str) -> None:
        self.follow(self.turns.prompted())
        self.turns.use()
        named = (response_id or None, request_id or None)
        self.tell(tokens.usage(found, self.window, *named))

    def used_so_far(self, found: Tokens) -> None:
        """What the thread used in all so far: it says nothing of the window."""
        if found.input or found.output:
            self.follow(self.turns.prompted())
            self.turns.use()
            self.tell(tokens.usage(found, self.window)._replace(cumulative=True, is_sum=True))

    def compacting(self, teller: str, trigger: str | None = None) -> None:
        """A compaction begins, as one of several tellers says once for each."""
        if self._is_news("before", teller):
            self.tell(Compaction("before", trigger))

    def compacted(self, teller: str, trigger: str | None = None) -> None:
        """A compaction happened, as one of several tellers says once for each."""
        if self._is_news("after", teller):
            self.turns.act()
            self._is_asked = self._is_answering = False
            self.tell(Compaction("after", trigger))

    def _is_news(self, stage: str, teller: str) -> bool:
        by_teller = self._compactions.setdefault(stage, {})
        told = max(by_teller.values(), default=0)
        by_teller[teller] = by_teller.get(teller, 0) + 1
        return by_teller[teller] > told

    # Tools.

    def call(self, call: Call, turn_id: str) -> None:
        """The model calls a tool."""
        if not call.id:
            self._unnamed_calls += 1
            call = call._replace(id=f"{call.name}-{self._unnamed_calls}")
        if call.id in self._calls or call.id in self._left_out:
            return
        is_open = self.enter(turn_id)
        if reads := skill_reads.skill_reads(call.input, self.cwd):
            self._reads[call.id] = reads
        if self._is_left_out(call):
            self._left_out.add(call.id)
            return
        self._calls.add(call.id)
        if is_open:
            self.ask()
            self.turns.act()
        self.tell(ToolCall(call.id, call.name, call.input, turn_id or self.turns.id))

    def _is_left_out(self, call: Call) -> bool:
        """Say whether a script's call of a tool is told by the script's own call, or the reverse.

        The model is sent what its script gives back, so the script's call counts where it is seen.
        """
        is_inner = call.id.startswith(calls.INNER_CALL)
        if not is_inner and call.name != calls.SCRIPT_TOOL:
            return False
        level = "inner" if is_inner else "outer"
        self._script_calls = self._script_calls or level
        return self._script_calls != level

    def fail(self, call_id: str) -> None:
        """An item says that a call failed; its output may not."""
        self._failed.add(call_id)

    def answer(self, answer: Answer) -> None:
        """A tool answered; the first answer to a call counts."""
        if not answer.id or answer.id in self._answers:
            return
        self._answers.add(answer.id)
        is_error = answer.is_failed or answer.id in self._failed
        if answer.id not in self._left_out:
            self.put_in()
            self.turns.act()
            self.tell(ToolResult(answer.id, outputs.content_of(answer.output), is_error))
        for read in self._reads.pop(answer.id, ()):
            if not is_error:
                self._read(read, outputs.body(answer.output))

    def _read(self, read: SkillRead, output: str) -> None:
        """A command read a SKILL.md; its text is the answer of that command, counted there."""
        if skill_reads.is_whole(read, output):
            note = "truncated" if skill_reads.is_truncated(output) else None
            name = skill_reads.skill_name(read.path)
            self._loaded[name] = read.path
            self.tell(Skill(name, "loaded", read.path, note=note, is_result=True))
