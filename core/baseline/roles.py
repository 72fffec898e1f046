"""One voice for all kinds of label: propose, challenge, decide, whatever the codebook's kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.baseline import choice_roles, multilabel_roles, rating_roles
from core.baseline.lexicon import lexicon_of
from core.baseline.match import View
from core.baseline.rating_roles import Weighed
from core.baseline.scan import scan
from core.codebook import Codebook, Kind
from core.debate.turns import Reply
from core.documents import Document


@dataclass(frozen=True, slots=True)
class Voice:
    """The baseline before one document. ``concern`` are a persona's own words, empty for anybody else."""

    codebook: Codebook
    document: Document
    concern: str = ""

    @property
    def kind(self) -> Kind:
        return self.codebook.kind

    @property
    def view(self) -> View:
        """The document's first field through the codebook's words; cheap, as both are cached."""
        lexicon = lexicon_of(self.codebook)
        return View(lexicon, scan(lexicon, self.document.text))

    def propose(self, final: bool = False) -> str:
        """Decide alone; ``final`` when there is nobody left to weigh it."""
        match self.kind:
            case "multilabel":
                return multilabel_roles.propose(self.view, final)
            case "choice":
                return choice_roles.propose(self.view, final)
            case "rating":
                return rating_roles.propose(self.view, self._weighed())

    def challenge(self, heard: Reply) -> str:
        """Test what one other said."""
        match self.kind:
            case "multilabel":
                return multilabel_roles.challenge(self.view, heard)
            case "choice":
                return choice_roles.challenge(self.view, heard)
            case "rating":
                return rating_roles.challenge(self.view, self._weighed(), heard)

    def decide(self, heard: Sequence[Reply]) -> str:
        """Decide between what others said."""
        match self.kind:
            case "multilabel":
                return multilabel_roles.decide(self.view, heard)
            case "choice":
                return choice_roles.decide(self.view, heard)
            case "rating":
                return rating_roles.decide(self.view, self._weighed(), heard)

    def _weighed(self) -> Weighed:
        return Weighed.of(self.document, self.concern)
