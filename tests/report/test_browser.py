"""Reports in a real Chromium: nothing is scrolled sideways on a phone, no request leaves, axe-core has no complaint.

Chromium is Debian's package ``chromium``. axe-core is one file of the npm package of that name: PARABOLOID_AXE says
where (``npm install axe-core``, then node_modules/axe-core/axe.min.js). Where one is missing, pytest's summary says so.
"""

import functools
import http.server
import json
import os
import queue
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from paraboloid.report import write_report
from tests.report.scenarios import page_of

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
AXE = os.environ.get("PARABOLOID_AXE", "")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--remote-debugging-port=0"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 120.0
SEEN = ("oven", "thirty", "saddle", "failed", "empty", "running")

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: install Debian's package chromium")


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and takes the answer of a page."""

    answers: queue.Queue[Any]

    def do_POST(self) -> None:
        self.answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def answer_of(page: Path, folder: Path) -> Any:
    """Return what the script of a page, opened in the browser, sends back."""
    assert BROWSER is not None
    answers: queue.Queue[Any] = queue.Queue()
    kind = type("Handler", (_Handler,), {"answers": answers})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind, directory=page.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/{page.name}"
        command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", address]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return answers.get(timeout=PATIENCE)
        finally:
            browser.terminate()
            browser.wait(PATIENCE)
            server.shutdown()


MEASURE = """<!doctype html><body><script>
const names = %s, answer = {};
let left = names.length * 4;
for (const name of names) for (const width of [360, 720, 1130, 1200]) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "700px"; frame.style.border = "0";
  frame.onload = () => {
    const root = frame.contentDocument.documentElement, view = frame.contentWindow;
    const out = [...root.querySelectorAll("body *")].filter(
      e => !e.closest("thead") && !e.closest("svg") && e.getBoundingClientRect().right > width + 0.5);
    const small = [...root.querySelectorAll("svg text")].filter(e => e.getBoundingClientRect().height < 9).length;
    const cut = [...root.querySelectorAll("svg")].flatMap(s => [...s.querySelectorAll("text")].filter(t => {
      const a = s.getBoundingClientRect(), b = t.getBoundingClientRect();
      return b.left < a.left - 2 || b.right > a.right + 2;})).map(t => t.textContent);
    answer[name + " " + width] = {wide: root.scrollWidth, out: out.length, small, cut,
      requests: view.performance.getEntriesByType("resource").length};
    if (--left === 0) fetch("answer", {method: "POST", body: JSON.stringify(answer)});
  };
  frame.src = name + ".html";
  document.body.append(frame);
}
</script>"""


@needs_browser
def test_nothing_is_scrolled_sideways_or_cut_at_any_width(studies: Path, tmp_path: Path) -> None:
    for name in SEEN:
        write_report(tmp_path / f"{name}.html", page_of(studies, name))
    (tmp_path / "measure.htm").write_text(MEASURE % json.dumps(SEEN), encoding="utf-8")
    answer = answer_of(tmp_path / "measure.htm", tmp_path)
    assert len(answer) == 4 * len(SEEN)
    for place, found in answer.items():
        assert found["wide"] <= int(place.split()[1]), (place, found)
        assert (found["out"], found["small"], found["cut"], found["requests"]) == (0, 0, [], 0), (place, found)


RUN_AXE = """<script>%s</script><script>
const send = found => fetch("answer", {method: "POST", body: JSON.stringify(found)});
axe.run().then(
  found => send(found.violations.map(v => [v.id, v.impact, v.nodes.length, v.nodes[0].html.slice(0, 200)])),
  error => send(String(error)));
</script></body>"""


@needs_browser
@pytest.mark.skipif(not AXE, reason="PARABOLOID_AXE names no axe.min.js: npm install axe-core")
@pytest.mark.parametrize("name", SEEN)
def test_axe_finds_no_violation(studies: Path, tmp_path: Path, name: str) -> None:
    page = page_of(studies, name)
    # The report forbids scripts, so that the checker can only be let in through a copy that does not.
    allowed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert allowed != page
    script = Path(AXE).read_text(encoding="utf-8").replace("</script", "<\\/script")
    copy = tmp_path / f"{name}.html"
    copy.write_text(allowed.replace("</body>", RUN_AXE.replace("%s", script)), encoding="utf-8")
    assert answer_of(copy, tmp_path) == []
