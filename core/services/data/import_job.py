"""An import in a thread of its own: a page that is drawn anew, or left, neither stops nor repeats it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from core.codebook import Codebook
from core.services.data.importing import Draft, take_in
from core.services.session import ProjectSession
from core.store.documents import Import


class Importing:
    """One import from its start to its end. ``target`` gives the project, and may make it."""

    def __init__(self, draft: Draft, codebook: Codebook | None, target: Callable[[], ProjectSession]) -> None:
        self.draft = draft
        self.share = 0.0
        self.what = "Importing"
        self.session: ProjectSession | None = None
        self.made: Import | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(codebook, target), name="moot-import", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> tuple[ProjectSession, Import]:
        """What was imported and where, once it has ended. Raises the error that it met."""
        if self.error is not None:
            raise self.error
        assert self.session is not None
        assert self.made is not None
        return self.session, self.made

    def _run(self, codebook: Codebook | None, target: Callable[[], ProjectSession]) -> None:
        try:
            self.session = target()
            self.made = take_in(self.session, self.draft, codebook, self._tell)
        except Exception as error:  # handed to whoever asks for the result
            self.error = error

    def _tell(self, share: float, what: str) -> None:
        self.share, self.what = share, what
