"""What was measured, as figures (`calibrant.report.figures`) and as one page (`Page`)."""

from calibrant.report.page import Page as Page
