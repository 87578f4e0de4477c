"""Plans that are open in the editor: diagnostics and hints, kept in step with text and sessions."""

import os
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path

from handlers.editor_text import PlanText
from handlers.editor_view import CARRIED, Hint, diagnostics, hints, inlay_hints

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer
    from pygls.workspace import TextDocument

    from core.state import Session
    from handlers.hub import Hub

TYPING_SECONDS = 0.15  # A text that is being typed is read at most once in this time.
REFRESH_SECONDS = 0.25  # At most one refresh of hints in this time: it concerns every document.

_NAMES = ("plan.yaml", "plan.yml")


def register(server: "LanguageServer", hub: "Hub") -> None:
    """Register what editors need; `hub.later` and `hub.ask` are set before."""
    editor = Editor(server, hub)
    hub.changed = editor.session_changed

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        editor.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        editor.edited(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        editor.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        return editor.hints(params.text_document.uri, params.range)


def is_plan(name: str, carried_by: "Session | None") -> bool:
    """Whether a document is a plan: a session carries it out, or its file name says so."""
    return carried_by is not None or name in _NAMES or name.endswith(tuple(f".{n}" for n in _NAMES))


class Open:
    """One open document, and what the client was last told of it."""

    __slots__ = ("diagnostics", "document", "due", "hints", "plan", "version")

    def __init__(self, document: "TextDocument") -> None:
        self.document = document
        self.plan: PlanText | None = None  # As last read.
        self.version: int | None = None  # That the diagnostics are of.
        self.diagnostics: list[types.Diagnostic] = []
        self.hints: tuple[Hint, ...] = ()
        self.due = False  # It will be looked at soon.

    def read(self) -> PlanText:
        """Read the text as it stands, once for each version of it."""
        text = self.document.source
        if self.plan is None or self.plan.text != text:
            self.plan = PlanText(text, self.document.position_codec)
        return self.plan


class Editor:
    """The open documents of one client."""

    def __init__(self, server: "LanguageServer", hub: "Hub") -> None:
        assert hub.later is not None
        self._server = server
        self._hub = hub
        self._later = hub.later
        self._open: dict[str, Open] = {}
        self._changes = 0
        self._changed: dict[str, int] = {}  # Session id -> when it changed last.
        self._look_due = False
        self._refresh_due = False

    def opened(self, uri: str) -> None:
        """Look at a document that the client has just opened."""
        document = self._server.workspace.get_text_document(uri)
        known = self._open.setdefault(unquote(uri), Open(document))
        known.document = document
        self._publish(known)

    def edited(self, uri: str) -> None:
        """Look at a document soon; its typist has not finished."""
        known = self._open.get(unquote(uri))
        if known is not None and not known.due:
            known.due = True
            self._later(TYPING_SECONDS, partial(self._settled, known))

    def closed(self, uri: str) -> None:
        """Take back what was said of a document."""
        known = self._open.pop(unquote(uri), None)
        if known is not None and known.diagnostics:
            self._send(known, None, [])

    def hints(self, uri: str, asked: types.Range) -> list[types.InlayHint]:
        """Give the hints within a range; none for a plan that no session carries."""
        known = self._open.get(unquote(uri))
        if known is None:
            return []
        known.hints = self._hints(known)
        return inlay_hints(known.read(), known.hints, asked) if known.hints else []

    def session_changed(self, session: "Session") -> None:
        """Show what a session's plan has come to, once the host has its answer."""
        self._changes += 1
        self._changed[session.session_id] = self._changes
        if not self._look_due:
            self._look_due = True
            self._later(0.0, self._look)

    def _look(self) -> None:
        self._look_due = False
        for known in self._open.values():
            if not known.due:
                self._publish(known)
        if not self._refresh_due and self._can_refresh() and self._stale():
            self._refresh_due = True
            self._later(REFRESH_SECONDS, self._refresh)

    def _settled(self, known: Open) -> None:
        known.due = False
        if self._open.get(unquote(known.document.uri)) is known:
            self._publish(known)

    def _publish(self, known: Open) -> None:
        """Tell the client the diagnostics of a document, if it does not know them already."""
        session = self._session(known.document)
        found: list[types.Diagnostic] = []
        if is_plan(known.document.filename or "", session):
            found = diagnostics(known.read(), None if session is None else session.cursor)
        version = known.document.version
        if found != known.diagnostics or (found and version != known.version):
            self._send(known, version, found)

    def _send(self, known: Open, version: int | None, found: list[types.Diagnostic]) -> None:
        known.version, known.diagnostics = version, found
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(known.document.uri, found, version)
        )

    def _hints(self, known: Open) -> tuple[Hint, ...]:
        session = self._session(known.document)
        return () if session is None else hints(session.cursor)

    def _session(self, document: "TextDocument") -> "Session | None":
        """Find the session that carries this plan out; of several, the one that changed last."""
        path = _real(to_fs_path(document.uri))
        carrying = [
            state
            for state in self._hub.sessions.states()
            if path is not None
            and state.cursor.status in CARRIED
            and _real(state.cursor.path) == path
        ]
        return max(carrying, key=lambda s: self._changed.get(s.session_id, 0), default=None)

    def _stale(self) -> bool:
        return any(self._hints(known) != known.hints for known in self._open.values())

    def _can_refresh(self) -> bool:
        workspace = self._server.client_capabilities.workspace
        hints_of = None if workspace is None else workspace.inlay_hint
        return hints_of is not None and hints_of.refresh_support is True

    def _refresh(self) -> None:
        """Ask the client to ask for its hints again, unless they are what it has already."""
        self._refresh_due = False
        if not self._stale():
            return
        for known in self._open.values():
            known.hints = self._hints(known)
        self._hub.ask(types.WORKSPACE_INLAY_HINT_REFRESH, None, _ignore)


def _real(path: str | None) -> str | None:
    """Give the one name of a file; None for what no file can be called."""
    if path is None or "\0" in path:
        return None
    return os.path.normcase(os.path.realpath(path))


def _ignore(answer: object) -> None:
    """Whether the client asks again is its affair."""
