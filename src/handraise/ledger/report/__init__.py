"""The ledger as one page that can be read, printed and filed."""

from handraise.ledger.report.cases import OUTCOMES, Case, Outcome, cases_of
from handraise.ledger.report.figures import Figures, figures_of
from handraise.ledger.report.page import Standing, render_report

__all__ = ["OUTCOMES", "Case", "Figures", "Outcome", "Standing", "cases_of", "figures_of", "render_report"]
