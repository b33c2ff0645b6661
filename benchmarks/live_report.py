"""How long a page takes to follow a slider: four logs of 1200 samples run again and drawn, in Chromium.

python benchmarks/live_report.py [--json]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import backemf as be
from backemf.apps.report import html
from backemf.apps.report.contents import report

MEASURE = """async (n) => {
  const box = document.getElementById("live-0"), run = [], painted = [];
  const given = JSON.parse(document.getElementById("live").textContent)[0].sliders;
  for (let k = 0; k < n; k++) {
    const values = given.map((s, i) => i === k % given.length
      ? s.least + (s.most - s.least) * (0.2 + 0.6 * ((7 * k) % n) / n) : null);
    await new Promise((done) => requestAnimationFrame(done));
    const start = performance.now();
    box.move(values);
    document.body.getBoundingClientRect();  // styles and places are computed too
    run.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    painted.push(performance.now() - start);
  }
  return { run, painted };
}"""


def page(folder: Path) -> tuple[Path, int]:
    """A report of four logs of 1200 samples: MX-106 with M6 friction on a pendulum."""
    servo = be.Actuator.read("mx-106/m6")
    logs = []
    for k in range(4):
        bench = be.bench.Pendulum(mass=0.9, length=0.12 + 0.02 * k)
        asked = be.signal.sine(0.6 + 0.1 * k, 0.5)
        run = be.simulate(servo, bench, {"position_target": asked}, time=np.arange(1200) * 5e-3)
        seen = run.position + 5e-4 * np.random.default_rng(k).standard_normal(1200)
        signals = {"position": seen, "position_target": run["position_target"]}
        logs.append(be.log(f"log {k}", run.time, **signals, bench=bench))
    fit = be.fit(servo, logs, n_starts=1)
    return html.write(report(fit, logs, exported=False), folder / "report.html"), fit.substeps


def measure(place: Path, n: int = 80) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    program = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(place.as_uri())
        opened.wait_for_selector("html[data-drawn]", state="attached")
        seen = opened.evaluate(MEASURE, n)
        browser.close()
    late = {name: values[n // 4 :] for name, values in seen.items()}  # the first moves warm the compiler up
    run, painted = late["run"], late["painted"]
    return {
        "redraw_ms": statistics.median(run),
        "redraw_ms_worst_of_20": float(np.quantile(run, 0.95)),
        "until_painted_ms": statistics.median(painted),
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        place, substeps = page(Path(folder))
        found = {**measure(place, 4 if given.quick else 80), "steps": 4 * 1200 * substeps}
    if given.json:
        print(json.dumps(found))
        return
    print(f"Four logs of 1200 samples, {found['steps']} steps of MX-106 with M6 friction:")
    print(f"  run again and drawn, styles and layout included: {found['redraw_ms']:.1f} ms (median)")
    print(f"  the slowest of twenty: {found['redraw_ms_worst_of_20']:.1f} ms; aim: below 30 ms")
    print(f"  until the browser has painted them: {found['until_painted_ms']:.1f} ms")


if __name__ == "__main__":
    main()
