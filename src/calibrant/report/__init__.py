"""What was measured, as figures (`calibrant.report.figures`) and as one page (`Page`)."""

from calibrant.report.before_after import BeforeAfter as BeforeAfter
from calibrant.report.before_after import Scores as Scores
from calibrant.report.page import Page as Page
