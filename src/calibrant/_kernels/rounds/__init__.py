"""Rounds, compiled: which are pending, until when, and what is learned from them."""
