"""An index of keys as a dict, and XXH64 from its specification, one step per line."""

from __future__ import annotations

import numpy as np

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
ESTIMATE = 2**64


def turned(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) % ESTIMATE


def step(lane: int, estimate: int) -> int:
    return turned((lane + estimate * P2) % ESTIMATE, 31) * P1 % ESTIMATE


def xxh64(data: bytes, seed: int = 42) -> int:
    """The hash as in the specification (xxhash_spec.md, XXH64)."""
    rest = data
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) % ESTIMATE, (seed + P2) % ESTIMATE, seed, (seed - P1) % ESTIMATE]
        while len(rest) >= 32:
            for i in range(4):
                lanes[i] = step(lanes[i], int.from_bytes(rest[8 * i : 8 * i + 8], "little"))
            rest = rest[32:]
        acc = sum(turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        acc %= ESTIMATE
        for lane in lanes:
            acc = ((acc ^ step(0, lane)) * P1 + P4) % ESTIMATE
    else:
        acc = (seed + P5) % ESTIMATE
    acc = (acc + len(data)) % ESTIMATE
    while len(rest) >= 8:
        acc = (turned(acc ^ step(0, int.from_bytes(rest[:8], "little")), 27) * P1 + P4) % ESTIMATE
        rest = rest[8:]
    if len(rest) >= 4:
        acc ^= int.from_bytes(rest[:4], "little") * P1 % ESTIMATE
        acc = (turned(acc, 23) * P2 + P3) % ESTIMATE
        rest = rest[4:]
    for byte in rest:
        acc = turned(acc ^ (byte * P5 % ESTIMATE), 11) * P1 % ESTIMATE
    acc = (acc ^ acc >> 33) * P2 % ESTIMATE
    acc = (acc ^ acc >> 29) * P3 % ESTIMATE
    return acc ^ acc >> 32


def hash_of(key: int | str) -> int:
    return xxh64(key.encode() if isinstance(key, str) else (key % ESTIMATE).to_bytes(8, "little"))


class Index:
    """Slots by key."""

    def __init__(self) -> None:
        self.known: dict[int | str, int] = {}

    def slots(self, keys: list[int | str], add: bool = False) -> list[int]:
        if add:
            return [self.known.setdefault(key, len(self.known)) for key in keys]
        return [self.known.get(key, -1) for key in keys]

    def keys(self) -> list[int | str]:
        return list(self.known)

    def truncate(self, count: int) -> None:
        self.known = {key: slot for key, slot in self.known.items() if slot < count}

    def remove(self, slots: list[int]) -> list[int]:
        before = self.keys()
        kept = [key for key in before if self.known[key] not in set(slots)]
        self.known = {key: slot for slot, key in enumerate(kept)}
        return [self.known.get(key, -1) for key in before]


def shards_of(keys: list[int | str], shards: int) -> np.ndarray:
    return np.array([(hash_of(key) >> 32) % shards for key in keys])
