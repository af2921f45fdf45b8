"""A fleet's file: what goes in comes out, damage is seen, and a killed save harms nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from hashlib import blake2b

import numpy as np
import pytest

from calibrant.fleet import file
from calibrant.tables import InputError

SETTINGS = {"seed": 2**64 - 1, "level": 0.1 + 0.2, "name": "é"}


def shards():
    rng = np.random.default_rng(5)
    return [
        {
            "floats": rng.random((7, 3)),
            "bytes": rng.integers(0, 256, 1001).astype(np.uint8),
            "none": np.empty(0),
            "flags": np.array([True, False]),
        },
        {},
        {
            "floats": np.array([np.nan, np.inf, -0.0]),
            "long": np.array([2**64 - 1], dtype=np.uint64),
        },
    ]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "fleet"
    file.save(path, SETTINGS, shards())
    return path


@pytest.mark.parametrize("read", [file.load, file.open_mapped])
def test_what_was_saved_comes_back_bit_for_bit(saved, read):
    settings, back = read(saved)
    assert settings == SETTINGS
    assert [list(shard) for shard in back] == [list(shard) for shard in shards()]
    for shard, other in zip(back, shards(), strict=True):
        for name in shard:
            assert shard[name].dtype == other[name].dtype
            assert shard[name].shape == other[name].shape
            assert shard[name].tobytes() == other[name].tobytes()
            assert shard[name].flags.writeable == (read is file.load)


def test_arrays_are_aligned(saved):
    _, back = file.open_mapped(saved)
    assert all(a.ctypes.data % 64 == 0 for shard in back for a in shard.values() if a.size)


def test_a_mapping_outlives_the_file_it_was_opened_from(saved):
    _, back = file.open_mapped(saved)
    file.save(saved, {}, [{"floats": np.zeros(3)}])
    assert back[0]["floats"].tobytes() == shards()[0]["floats"].tobytes()
    saved.unlink()
    assert back[0]["floats"].tobytes() == shards()[0]["floats"].tobytes()


def test_every_cut_and_every_altered_byte_is_seen(saved):
    blob = saved.read_bytes()
    first = file.FIXED.size + file.FIXED.unpack_from(blob)[2] + file.DIGEST
    for size in [*range(0, first + 9, 7), len(blob) - 1]:
        saved.write_bytes(blob[:size])
        with pytest.raises(InputError, match=r"cut short|signature"):
            file.open_mapped(saved)
    saved.write_bytes(blob + b"x")
    with pytest.raises(InputError, match="something follows"):
        file.open_mapped(saved)
    settings, back = None, None
    for place in range(0, len(blob), 5):
        saved.write_bytes(blob[:place] + bytes([blob[place] ^ 4]) + blob[place + 1 :])
        try:
            settings, back = file.load(saved)
        except InputError as error:
            assert error.source == str(saved)  # noqa: PT017 - padding may be altered unseen
            continue
        assert settings == SETTINGS
        for shard, other in zip(back, shards(), strict=True):
            assert {k: v.tobytes() for k, v in shard.items()} == {
                k: v.tobytes() for k, v in other.items()
            }


def forged(blob: bytes, change, version: int = file.VERSION) -> bytes:
    """The file with another header, its checksum right."""
    size = file.FIXED.unpack_from(blob)[2]
    header = json.loads(blob[file.FIXED.size : file.FIXED.size + size])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    body = blob[file.FIXED.size + size + file.DIGEST :]
    length = file.FIXED.size + len(text) + file.DIGEST + len(body)
    head = file.FIXED.pack(file.MAGIC, version, len(text), length) + text
    return head + blake2b(head, digest_size=file.DIGEST).digest() + body


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h["arrays"][0].__setitem__(2, "|O"), "dtype"),
        (lambda h: h["arrays"][0].__setitem__(3, [9999, 3]), "behind the end"),
        (lambda h: h["arrays"][0].__setitem__(3, [-7, -3]), "shape"),
        (lambda h: h["arrays"][0].__setitem__(3, [0, 10**30]), "shape"),
        (lambda h: h["arrays"][0].__setitem__(1, 5), "array 5"),
        (lambda h: h["arrays"][0].__setitem__(4, 8), "at 8"),
        (lambda h: h["arrays"][0].__setitem__(0, -1), "shard"),
        (lambda h: h["arrays"][0].__setitem__(0, 3), "shard"),
        (lambda h: h.__setitem__("shards", 1.5), "shards"),
        (lambda h: h.pop("settings"), "settings"),
        (lambda h: h["arrays"][0].pop(), "digest"),
    ],
)
def test_a_forged_header_is_refused(saved, change, words):
    saved.write_bytes(forged(saved.read_bytes(), change))
    with pytest.raises(InputError, match=words):
        file.open_mapped(saved)


def test_a_newer_layout_is_refused_by_name(saved):
    newer = file.VERSION + 1
    saved.write_bytes(forged(saved.read_bytes(), lambda _: None, version=newer))
    with pytest.raises(InputError, match=rf"version {newer}; .* newer calibrant"):
        file.load(saved)


def test_what_cannot_be_saved_leaves_the_file_as_it_was(saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match="dtype object"):
        file.save(saved, {}, [{"a": np.array([None])}])
    with pytest.raises(TypeError):
        file.save(saved, {"a": object()}, [])
    assert saved.read_bytes() == before
    with pytest.raises(InputError, match="cannot be read"):
        file.load(saved.parent / "absent")


SAVER = """
import sys
import numpy as np
from calibrant.fleet import file
number = int(sys.argv[2])
while True:
    number += 1
    file.save(sys.argv[1], {"number": number}, [{"a": np.full(300_000, number)}])
    print(number, flush=True)
"""


def test_a_killed_save_never_harms_the_file_before(tmp_path):
    path, rng, number = tmp_path / "fleet", np.random.default_rng(11), 0
    left_behind = 0
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVER, path, str(number)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0].split()
        settings, (shard,) = file.load(path)
        # What was said to be saved is saved; the next one may be, before it could say so.
        done = int(said[-1]) if said else number + 1
        number = settings["number"]
        assert number in (done, done + 1)
        assert (shard["a"] == number).all()
        left_behind += len(list(tmp_path.glob(".*.part")))
    assert left_behind, "no save was killed halfway: the test has shown nothing"
