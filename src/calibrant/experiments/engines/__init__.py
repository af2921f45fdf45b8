"""Where tasks run: in processes of this machine, or on a Ray cluster.

An engine is a function from batches of jobs to an iterator over what became of them, in any order.
It neither writes files nor counts: the sweep does, so that a worker that dies loses nothing and
nothing is counted twice. Read `batches` first, then `local` or `ray`.
"""
