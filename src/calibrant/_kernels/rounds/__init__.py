"""The life of a round, compiled: what waits, until when, and what is learned of it."""
