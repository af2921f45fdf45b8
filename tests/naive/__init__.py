"""Slow, obvious references, written from the definitions; every fast path is compared with one."""
