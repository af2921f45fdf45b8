"""Where tasks run: in processes of this machine, or on a Ray cluster.

An engine turns jobs into an iterator over what became of them, some at a time and in any order. It
neither writes files nor counts: the sweep does, so that a worker that dies loses nothing and
nothing is counted twice. Read `batches` first, then `local` or `ray`.
"""
