"""The save format: refuses what it should, in words that help."""

import json
import struct
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from benchmarks.forged import parts_of, sealed
from calibrant import Epoch, Interval, Recalibrator, Zoom
from calibrant._bytes import DIGEST, FIXED, MAGIC, Saved
from calibrant.forecasters.rivals import K29, FosterHart
from calibrant.measures import Scorecard
from calibrant.partitions import Partition
from calibrant.saving import pack, unpack


@pytest.fixture
def blob():
    forecaster = Zoom(seed=3)
    forecaster.run(np.arange(5000) % 3 == 0)
    return forecaster.to_bytes()


def resealed(content):
    return content + blake2b(content, digest_size=DIGEST).digest()


def forged(blob, change):
    """Return the blob with its parts changed and the checksum right: a hostile hand's work."""
    saved = unpack(blob)
    parts = {**saved._asdict(), "state": dict(saved.state), "parameters": dict(saved.parameters)}
    change(parts)
    return pack(Saved(**parts))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[:0], "signature is missing"),
        (lambda b: b"PK\x03\x04" + b, "signature is missing"),
        (lambda b: b[:15], "cut short after 15 bytes"),
        (lambda b: b[:-1], "it is cut short"),
        (lambda b: b + b"x", "something follows it"),
        (lambda b: b[:60] + bytes([b[60] ^ 4]) + b[61:], "altered"),
        (lambda b: MAGIC + struct.pack("<I", 2) + b[12:], "layout version 2"),
    ],
)
def test_damage_is_named(blob, damage, message):
    with pytest.raises(ValueError, match=message):
        Zoom.from_bytes(damage(blob))


@pytest.mark.parametrize("cls", [Epoch, Recalibrator, Scorecard])
def test_another_class_is_named(blob, cls):
    with pytest.raises(ValueError, match=f"hold a Zoom, not a {cls.__name__}"):
        cls.from_bytes(blob)


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts["state"].pop("S"),
        lambda parts: parts.update(parameters={"seed": -1}),
        lambda parts: parts.update(parameters={"colour": 1}),
        lambda parts: parts.update(rounds=-1),
        lambda parts: parts.update(rounds=1.5),
        lambda parts: parts.update(rounds=2**63),
    ],
)
def test_forged_parts_are_refused(blob, change):
    """The checksum is no defence against someone who recomputes it; the kernel's checks are."""
    with pytest.raises(ValueError, match=r"saved|is invalid|seed"):
        Zoom.from_bytes(forged(blob, change))


@pytest.mark.parametrize("cls", [FosterHart, K29])
def test_arrays_of_another_grid_are_refused(cls):
    with pytest.raises(ValueError, match="saved"):
        cls.from_bytes(forged(cls(4).to_bytes(), lambda parts: parts["parameters"].update(gaps=5)))


@pytest.mark.parametrize("header", [b"", b"[]", b"{}", b"\xff", b"[" * 5000, b'{"class": "Zoom"}'])
def test_forged_headers_are_refused(header):
    length = FIXED.size + len(header) + DIGEST
    content = FIXED.pack(MAGIC, 1, length, len(header)) + header
    with pytest.raises(ValueError, match="is invalid"):
        Zoom.from_bytes(resealed(content))


@pytest.mark.parametrize(
    "arrays",
    [
        [["S", "<f8", 10**15]], [["S", "<f8", 10**30]], [["S", "|O", 1]], [["S", "<f8", -5]],
        [[5, "<f8", 1]], [[None, "<f8", 1]],
    ],
)  # fmt: skip
def test_forged_lengths_are_refused(arrays):
    header = json.dumps(
        {"class": "Zoom", "parameters": {}, "rounds": 0, "numbers": {}, "arrays": arrays}
    ).encode()
    length = FIXED.size + len(header) + 8 + DIGEST
    content = FIXED.pack(MAGIC, 1, length, len(header)) + header + bytes(8)
    with pytest.raises(ValueError, match="is invalid"):
        Zoom.from_bytes(resealed(content))


def test_a_partition_beyond_floats_is_refused():
    forecaster = Interval(partition=Partition((0.0, 0.5, 1.0)), horizon=100)
    header, arrays = parts_of(forecaster.to_bytes())
    header["parameters"]["partition"]["edges"][1] = 10**400
    with pytest.raises(ValueError, match="is invalid"):
        Interval.from_bytes(sealed(header, arrays))


def test_bytes_like_objects_are_read(blob):
    assert Zoom.from_bytes(bytearray(blob)).to_bytes() == blob
    assert Zoom.from_bytes(memoryview(blob)).to_bytes() == blob


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no file without an end")
@pytest.mark.parametrize("cls", [Zoom, Recalibrator, Scorecard])
def test_a_file_without_an_end_is_not_read_to_its_end(cls):
    import resource  # noqa: PLC0415 - of POSIX

    room = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**33, room[1]))
    try:
        with pytest.raises(ValueError, match=r"/dev/zero: .* the signature is missing"):
            cls.load("/dev/zero")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, room)
