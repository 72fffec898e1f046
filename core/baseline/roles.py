"""Replies of the baseline in the three kinds of role, for every kind of codebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.baseline import choice_roles, multilabel_roles, rating_roles
from core.baseline.lexicon import lexicon_of
from core.baseline.match import Matches
from core.baseline.rating_roles import RatingFeatures
from core.baseline.scan import scan
from core.codebook import Codebook, Kind
from core.debate.turns import Reply
from core.documents import Document


@dataclass(frozen=True, slots=True)
class BaselineRoles:
    """The baseline's replies on one document. ``concern`` is the focus of a persona, else empty."""

    codebook: Codebook
    document: Document
    concern: str = ""

    @property
    def kind(self) -> Kind:
        return self.codebook.kind

    @property
    def matches(self) -> Matches:
        """The matches in the document's first field; cheap, because lexicon and scan are cached."""
        lexicon = lexicon_of(self.codebook)
        return Matches(lexicon, scan(lexicon, self.document.text))

    def propose(self, final: bool = False) -> str:
        """Decide independently; ``final`` if no other role weighs the reply."""
        match self.kind:
            case "multilabel":
                return multilabel_roles.propose(self.matches, final)
            case "choice":
                return choice_roles.propose(self.matches, final)
            case "rating":
                return rating_roles.propose(self.matches, self._weighed())

    def challenge(self, replies: Reply) -> str:
        """Check the reply of another role."""
        match self.kind:
            case "multilabel":
                return multilabel_roles.challenge(self.matches, replies)
            case "choice":
                return choice_roles.challenge(self.matches, replies)
            case "rating":
                return rating_roles.challenge(self.matches, self._weighed(), replies)

    def decide(self, replies: Sequence[Reply]) -> str:
        """Decide between the replies of other roles."""
        match self.kind:
            case "multilabel":
                return multilabel_roles.decide(self.matches, replies)
            case "choice":
                return choice_roles.decide(self.matches, replies)
            case "rating":
                return rating_roles.decide(self.matches, self._weighed(), replies)

    def _weighed(self) -> RatingFeatures:
        return RatingFeatures.of(self.document, self.concern)
