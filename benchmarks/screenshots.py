"""Pictures of the live pages for docs/service.md: light, dark, and on a phone.

``python -m benchmarks screenshots`` sends flights to a service like ``make serve``, and writes
screenshots of Chromium into docs/figures/.
"""

import io
import tempfile
from contextlib import closing
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from benchmarks.load import Server
from calibrant.service import Client, demo
from report.browser import program

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
WIDE, PHONE = {"width": 1100, "height": 800}, {"width": 390, "height": 800}
#: Name, colours, window, and the part of the page at whose end the picture ends.
PICTURES = (
    ("service-light", "light", WIDE, "figure:has(#means-picture)"),
    ("service-dark", "dark", WIDE, "figure:has(#means-picture)"),
    ("service-phone", "light", PHONE, "#reliability-picture"),
)


def play(url, progress):
    """Play the weeks with which ``make serve`` begins, hour by hour."""

    def hours():
        for hour in range(int(demo.HEAD_START / demo.STEP) + 1):
            progress(f"screenshots: hour {hour}")
            yield rows.departed[0] + hour * demo.STEP

    rows = demo.flights()
    with Client(url, timeout=60) as client:
        client.put_stream(demo.STREAM, **demo.SETTINGS)
        demo.play(client, rows, hours())


def write(progress):
    """Write the pictures; yield their paths."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Server(f"{folder}/store.db")) as server,
        sync_playwright() as playwright,
    ):
        play(server.url, progress)
        browser = playwright.chromium.launch(
            executable_path=program(), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, scheme, window, end in PICTURES:
            progress(f"screenshots: {name}")
            page = browser.new_page(
                viewport=window, color_scheme=scheme, device_scale_factor=1.5,
                reduced_motion="reduce",
            )  # fmt: skip
            page.goto(f"{server.url}/streams/{demo.STREAM}")
            page.wait_for_selector("main[data-sequence]", timeout=60_000)
            page.wait_for_selector("#status.live")
            path = FOLDER / f"{name}.png"
            path.write_bytes(small(page.screenshot(full_page=True, clip=down_to(page, end))))
            page.close()
            yield path
        browser.close()


def down_to(page, end):
    """Return the part of a page from its top to the end of an element."""
    box = page.locator(end).bounding_box()
    height = box["y"] + box["height"] + 16
    return {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}


def small(picture):
    """Return a picture in 128 colours: a fifth of the bytes, and no eye sees it."""
    out = io.BytesIO()
    colours = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128)
    colours.save(out, "PNG", optimize=True)
    return out.getvalue()
