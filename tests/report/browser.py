"""A real browser without a window: Chromium, from its command line."""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

REQUIRED = "CALIBRANT_REQUIRE_BROWSER"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
]  # fmt: skip

# Reports what a reader would notice: errors, and what sticks out of the window.
PROBE = """<script>
const errors = [];
addEventListener("error", event => errors.push(String(event.message || event.target)), true);
addEventListener("securitypolicyviolation", event => errors.push(event.blockedURI));
addEventListener("load", () => {
  const wide = document.documentElement.clientWidth;
  const scrolls = element => element.closest(".drawing, .table") !== null;
  const out = [...document.querySelectorAll("body *")]
    .filter(e => !scrolls(e) && e.getBoundingClientRect().right > wide + 1)
    .map(e => e.tagName + " " + e.className);
  const scrolling = [...document.querySelectorAll(".drawing, .table")]
    .filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => e.className + ": " + e.scrollWidth + " in " + e.clientWidth);
  const boxes = [...document.querySelectorAll("svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    return [box.width, box.height, svg.querySelectorAll("text").length];
  }).filter(box => box[0] > 0);  // what is drawn for other widths is not shown
  const style = getComputedStyle(document.body);
  const probe = document.createElement("script");
  probe.type = "application/json"; probe.id = "probe";
  probe.textContent = JSON.stringify({
    errors, out, scrolling, boxes, wide, scroll: document.documentElement.scrollWidth,
    paper: style.backgroundColor, ink: style.color, mode: document.compatMode,
    fetched: performance.getEntriesByType("resource").map(entry => entry.name),
    dead: [...document.querySelectorAll('a[href^="#"], use')]
      .map(e => e.getAttribute("href") || e.getAttribute("xlink:href"))
      .filter(target => !document.getElementById(target.slice(1))),
  });
  parent.document.body.append(probe);
});
</script>"""


def program():
    """Return the browser; without one, skip aloud or, where it is required, fail."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        reason = f"no browser to open the page in: none of {', '.join(names)} is on the PATH"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(f"{reason}; the page was NOT looked at")
    return found


def visit(page, tmp_path, *, width=1200, height=900, dark=False, probe=PROBE):
    """Open a page's text and return what a reader would notice, see `PROBE`."""
    looked_at = tmp_path / "looked-at.html"
    looked_at.write_text(page.replace("<head>", f"<head>{probe}", 1), encoding="utf-8")
    scheme = 0 if dark else 1  # Blink's numbers for prefers-color-scheme
    done = run(
        tmp_path, f"--window-size={width},{height}",
        f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom", looked_at.as_uri(),
    )  # fmt: skip
    found = re.search(r'<script type="application/json" id="probe">(.*?)</script>', done.stdout)
    assert found, f"the page did not load:\n{done.stderr}"
    seen = json.loads(found[1])
    seen["console"] = re.findall(r".*CONSOLE.*", done.stderr)
    return seen


def visit_on_phone(page, tmp_path, *, width=360, dark=False):
    """Open a page as `visit` does, in a frame as wide as a phone: no window is that narrow."""
    inside = html.escape(page.replace("<head>", f"<head>{PROBE}", 1))
    frame = (
        f'<!doctype html><html><head></head><body><iframe srcdoc="{inside}" '
        f'style="border: 0; width: {width}px; height: 800px"></iframe></body></html>'
    )
    return visit(frame, tmp_path, width=500, dark=dark, probe="")


def shoot(page, tmp_path, *, width=1200, height=900):
    """Open a page's text and return a picture of it, as PNG."""
    path, picture = tmp_path / "shown.html", tmp_path / "shown.png"
    path.write_text(page, encoding="utf-8")
    run(tmp_path, f"--window-size={width},{height}", f"--screenshot={picture}", path.as_uri())
    return picture.read_bytes()


def run(tmp_path, *arguments):
    """Run the browser with a profile of its own."""
    return subprocess.run(
        [program(), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *arguments],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
