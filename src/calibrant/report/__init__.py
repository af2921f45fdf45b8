"""What was measured, as figures and as one page."""
