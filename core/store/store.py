"""The contents of a project by family: the facade through which services read and write."""

from __future__ import annotations

from core.store.authors import AuthorLog
from core.store.avoided_costs import AvoidedCosts
from core.store.classifiers import ClassifierStore
from core.store.codebooks import Codebooks
from core.store.confusion import ConfusionCounts
from core.store.connection import Connection
from core.store.debate_steps import Stages
from core.store.document_records import DocumentRecords
from core.store.documents import Documents
from core.store.dump import Dump
from core.store.events import Events
from core.store.example_documents import PrecedentPools
from core.store.finished_debates import FinishedDebates
from core.store.lab import Lab
from core.store.latent_labels import LatentLabels
from core.store.personas import Personas
from core.store.prompts import Prompts
from core.store.review_pages import ReviewPages
from core.store.review_reasons import ReviewReasons
from core.store.reviewer_values import ReviewerAgreement
from core.store.reviews import Reviews
from core.store.runs import Runs
from core.store.sampling_frames import SamplingFrames
from core.store.settings import Settings
from core.store.transcripts import Transcripts
from core.store.writer import Writer


class Store:
    """All contents of a project, one attribute per family.

    Use it from any thread, but not from an event loop, which it blocks.
    """

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self.documents = Documents(connection, writer)
        self.author_log = AuthorLog(connection, writer)
        self.codebooks = Codebooks(connection, writer)
        self.runs = Runs(connection, writer)
        self.transcripts = Transcripts(connection)
        self.finished_debates = FinishedDebates(connection)
        self.reviews = Reviews(connection, writer)
        self.events = Events(connection)
        self.agreement = ReviewerAgreement(connection)
        self.settings = Settings(connection, writer)
        self.avoided_costs = AvoidedCosts(connection)
        self.document_records = DocumentRecords(connection)
        self.dump = Dump(connection)
        self.classifiers = ClassifierStore(connection, writer)
        self.review_pages = ReviewPages(connection)
        self.personas = Personas(connection, writer)
        self.review_reasons = ReviewReasons(connection, writer)
        self.sampling_frames = SamplingFrames(connection, writer)
        self.evaluations = ConfusionCounts(connection)
        self.prompts = Prompts(connection, writer)
        self.precedents = PrecedentPools(connection, writer)
        self.lab = Lab(connection, writer)
        self.latent_labels = LatentLabels(connection, writer)
        self.stages = Stages(connection)
