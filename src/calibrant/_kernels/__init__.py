"""The compiled inner loops, one file per forecaster; nothing here uses files or reports."""
