"""Where cells are played: in processes of this machine, or on a Ray cluster.

An engine is a function from batches to an iterator over their reports, in any order. It neither
writes files nor counts: whoever runs the sweep does, so that a worker that dies loses nothing and
nothing is counted twice.
"""
