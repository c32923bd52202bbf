"""The ledger as one page that can be read, printed and filed."""

from handraise.ledger.report.figures import (
    OUTCOMES,
    AskedQuestion,
    Figures,
    ReportOutcome,
    figures_of,
    questions_of,
)
from handraise.ledger.report.page import LedgerStatus, render_report

__all__ = [
    "OUTCOMES",
    "AskedQuestion",
    "Figures",
    "LedgerStatus",
    "ReportOutcome",
    "figures_of",
    "questions_of",
    "render_report",
]
