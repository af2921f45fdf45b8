"""The compiled inner loops, one file a forecaster; nothing here knows of files or reports."""
