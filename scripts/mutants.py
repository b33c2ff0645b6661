"""Mutants: the source with one sign, factor, comparison, term or argument changed, which a test must notice.

python scripts/mutants.py                                 200 of them, judged by the tests that reach them
python scripts/mutants.py --seed 7 --docs                 others, and the table in the docs
python scripts/mutants.py --fresh                         three samples of 150, by seeds of the source
python scripts/mutants.py --fresh 81 82 83                the same of others
python scripts/mutants.py --list --only model/            show them, run nothing
python scripts/mutants.py --file src/backemf/physics/gearbox.py --line 60
python scripts/mutants.py --again                         what survived the last time, or was interrupted
python scripts/mutants.py --equivalents                   those listed as equivalent: does a test notice one?

Once, and after every change of the source, the tests run with coverage to see what each reaches (--stale uses
what is known from an older source). Survivors that change nothing anybody could notice are listed with the
reason in mutants_equivalent.toml.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from docs_tables import fill, markdown
from mutation.judge import judged, unsound
from mutation.reach import PACKAGE, Coverage, write
from mutation.sandbox import Sandbox, each
from mutation.sites import KINDS, Mutant, applied, is_python, mutants_of, sampled

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutants"
LISTED = Path(__file__).with_name("mutants_equivalent.toml")
PAGE = ROOT / "docs" / "testing.md"
ROOMS = "physics engine identify kits targets mujoco planning sizing analysis logs/readers apps/web/guard.py"
SCOPE = tuple(f"{PACKAGE}/{place}" for place in f"{ROOMS} statistics.py datasheets/reconcile.py".split())
"""What is changed; folders that are not there are passed over."""
ENOUGH, EACH, EQUIVALENT = 0.9, 0.88, 0.03
"""Share of the mutants that must die, of those that are not listed as equivalent: on the mean, and of each
sample; and how many may be listed."""
SEEDS, FRESH = (4002, 4003, 4004), 150
"""Of the samples that --fresh draws, written down before any of them was; and how many mutants each has."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A mutant and what became of it."""

    mutant: Mutant
    state: str = "waiting"
    """"killed", "survived", "equivalent", or "waiting"."""
    by: str = ""
    """The test that killed it; the reason why nothing can."""
    error: str = ""
    n_tests: int = 0
    seconds: float = 0.0


def sources_of(root: Path) -> dict[str, bytes]:
    """Every file of the package by its path."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted((root / PACKAGE).rglob("*.py"))}


def candidates(sources: Mapping[str, bytes], only: str = "") -> list[Mutant]:
    """Every mutant of every file in scope whose path contains a word."""
    return [
        mutant
        for file, source in sources.items()
        if only in file and any(file == place or file.startswith(f"{place}/") for place in SCOPE)
        for mutant in mutants_of(source, file)
    ]


def equivalents(path: Path = LISTED) -> dict[tuple[str, str, str], str]:
    """(file, line, the line when mutated) -> the reason why no test can tell the two apart."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(row["file"], _plain(row["line"]), _plain(row["mutated"])): row["reason"] for row in rows}


def _plain(text: str) -> str:
    return " ".join(text.split())


def reason(mutant: Mutant, listed: Mapping[tuple[str, str, str], str]) -> str | None:
    """Why a mutant counts as equivalent, if it does."""
    return listed.get((mutant.file, mutant.before, mutant.after))


def chosen(asked: argparse.Namespace, sources: Mapping[str, bytes]) -> list[Mutant]:
    """The mutants that were asked for."""
    wanted = candidates(sources, asked.only)
    if asked.equivalents:
        listed = equivalents()
        return [m for m in wanted if reason(m, listed) is not None]
    if asked.file:
        path = Path(asked.file).resolve()
        wanted = [m for m in wanted if (ROOT / m.file) == path]
    if asked.line:
        wanted = [m for m in wanted if m.line == asked.line]
        return [m for m in wanted if is_python(applied(sources[m.file], m))]
    return sampled(wanted, asked.sample, asked.seed, lambda m: is_python(applied(sources[m.file], m)))


def again(stored: Sequence[Judged], sources: Mapping[str, bytes]) -> list[Judged]:
    """A stored report against the present source, by text: lines may have moved."""
    here: dict[tuple[str, str, str, str], list[Mutant]] = {}
    for m in candidates(sources):
        here.setdefault((m.file, m.kind, m.before, m.after), []).append(m)
    found = []
    for one in stored:
        m = one.mutant
        same = here.get((m.file, m.kind, m.before, m.after), [])
        if not same:
            print(f"no longer there: {m}")
            continue
        near = min(same, key=lambda other: abs(other.line - m.line))
        same.remove(near)
        found.append(replace(one, mutant=near, state="killed" if one.state == "killed" else "waiting"))
    return found


def judge_all(
    rows: list[Judged], sources: dict[str, bytes], coverage: Coverage, asked: argparse.Namespace
) -> Iterator[tuple[int, Judged]]:
    """Rows as they are decided, by their place."""
    waiting = [k for k, row in enumerate(rows) if row.state == "waiting"]
    with contextlib.ExitStack() as stack:
        free: queue.SimpleQueue[Sandbox] = queue.SimpleQueue()
        first = coverage.sandbox
        free.put(first)
        for _ in range(asked.workers - 1):
            other = Sandbox(first.root, first.kernels, first.root.parent / "shared")
            stack.callback(other.remove)
            free.put(other)

        def judge(k: int) -> tuple[int, Judged]:
            mutant = rows[k].mutant
            sandbox = free.get()
            try:
                verdict = judged(mutant, sandbox, coverage.reach(mutant, sources), asked.budget)
            finally:
                free.put(sandbox)
            state = "killed" if verdict.killed else "survived"
            row = Judged(
                mutant=mutant, state=state, **{k: v for k, v in asdict(verdict).items() if k != "killed"}
            )
            return k, row

        yield from each(judge, waiting, asked.workers)


def table(rows: Iterable[Judged]) -> list[list[str]]:
    """By kind: made, killed, survived, equivalent; the last row is all of them."""
    counts = Counter((row.mutant.kind, row.state) for row in rows)
    found = []
    for kind in KINDS:
        killed, survived, same = (counts[kind, state] for state in ("killed", "survived", "equivalent"))
        waiting = counts[kind, "waiting"]
        found.append([kind, *map(str, (killed + survived + same + waiting, killed, survived, same))])
    total = [str(sum(int(row[k]) for row in found)) for k in range(1, 5)]
    return [*found, ["all", *total]]


def share(rows: Iterable[Judged]) -> float:
    """How many died, of those that could."""
    states = [row.state for row in rows if row.state != "equivalent"]
    return states.count("killed") / max(len(states), 1)


def verdict(samples: Mapping[int, Sequence[Judged]]) -> tuple[str, bool]:
    """(what to say of fresh samples by their seeds, whether that is enough)."""
    shares = {seed: share(rows) for seed, rows in samples.items()}
    states = [row.state for rows in samples.values() for row in rows]
    mean, listed = sum(shares.values()) / len(shares), states.count("equivalent") / max(len(states), 1)
    good = mean >= ENOUGH and min(shares.values()) >= EACH and listed <= EQUIVALENT
    each_one = ", ".join(f"{100 * died:.1f} % (--seed {seed})" for seed, died in shares.items())
    text = (
        f"of {len(shares)} samples {each_one} die, {100 * mean:.1f} % on the mean; {100 * listed:.1f} % are"
    )
    wanted = f"{100 * ENOUGH:.0f} %, each {100 * EACH:.0f} %, at most {100 * EQUIVALENT:.0f} % equivalent"
    return f"{text} listed as equivalent; wanted: {wanted}", good


HEAD = ["kind", "made", "killed", "survived", "equivalent"]


def printed(rows: Sequence[Judged]) -> str:
    cells = [HEAD, *table(rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(HEAD))]
    lines = [
        row[0].ljust(widths[0])
        + "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
        for row in cells
    ]
    for row in rows:
        if row.state == "survived":
            lines.append(f"{row.mutant}" + ("" if row.n_tests else "  (no test reaches it)"))
    for row in rows:
        if row.state == "equivalent":
            lines.append(f"equivalent: {row.mutant}  ({row.by})")
    lines.append(f"{100 * share(rows):.1f} % die; at least {100 * ENOUGH:.0f} % must")
    return "\n".join(lines)


def documented(rows: Sequence[Judged], seed: int) -> str:
    """The part of the page that is measured."""
    dead = f"{100 * share(rows):.1f} % of those that could be noticed died."
    parts = [f"A sample of {len(rows)} (`--seed {seed}`): {dead}", markdown(HEAD, table(rows))]
    survivors = [
        [f"`{row.mutant.file.removeprefix(PACKAGE + '/')}`", row.mutant.kind, *_code(row.mutant)]
        for row in rows
        if row.state == "survived"
    ]
    if survivors:
        parts += ["Survivors:", markdown(["file", "kind", "line", "mutated"], survivors)]
    listed = [
        [f"`{file.removeprefix(PACKAGE + '/')}`", f"`{line}`", f"`{mutated}`", why]
        for (file, line, mutated), why in equivalents().items()
    ]
    if listed:
        parts += ["Listed as equivalent:", markdown(["file", "line", "mutated", "why"], listed)]
    return "\n\n".join(parts)


def _code(mutant: Mutant) -> tuple[str, str]:
    return f"`{mutant.before}`", f"`{mutant.after}`"


def stored_report(path: Path) -> tuple[dict[str, Any], list[Judged]]:
    """How a report was made, and its rows."""
    if not path.exists():
        raise SystemExit(f"{path.relative_to(ROOT)} is not there; run without --again first")
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for row in content.pop("mutants"):
        mutant: dict[str, Any] = row.pop("mutant")
        for name in ("statement", "site"):
            mutant[name] = tuple(mutant[name])
        rows.append(Judged(mutant=Mutant(**mutant), **row))
    return content, rows


def store_report(path: Path, how: Mapping[str, Any], rows: Sequence[Judged]) -> None:
    content = {**how, "share": share(rows), "mutants": [asdict(row) for row in rows]}
    write(path, json.dumps(content, indent=1))


def doubted(rows: list[Judged], coverage: Coverage) -> list[Judged]:
    """A test that fails on the unchanged source has killed nothing; it is not used again."""
    killers = sorted({row.by for row in rows if row.state == "killed" and "::" in row.by})
    wrong = unsound(coverage.sandbox, killers)
    for name in sorted(wrong):
        print(f"fails without any change, what it killed is judged again: {name}")
    coverage.drop(wrong)
    return [replace(row, state="waiting") if row.by in wrong else row for row in rows]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (0)")
    parser.add_argument(
        "--fresh",
        type=int,
        nargs="*",
        metavar="SEED",
        help=f"samples of {FRESH} by these seeds, and a verdict",
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="files whose path contains this")
    parser.add_argument("--file", metavar="PATH", help="one file")
    parser.add_argument("--line", type=int, metavar="N", help="every mutant of one line of it")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--again", action="store_true", help="judge again what the last report left alive")
    parser.add_argument("--equivalents", action="store_true", help="judge those listed as equivalent instead")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATTERN", help="test files to use (all)")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="what tests reach is not measured again because the source changed",
    )
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of tests a mutant (120)")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time (1)")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/testing.md")
    asked = parser.parse_args()
    if asked.line and not asked.file:
        parser.error("--line needs --file")
    if asked.docs and (asked.only or asked.file or asked.equivalents):
        parser.error("--docs needs a sample of everything")
    if asked.fresh is not None and (asked.again or asked.file or asked.equivalents or asked.docs):
        parser.error("--fresh takes no --again, --file, --equivalents and no --docs")
    return asked


def run(asked: argparse.Namespace, sandbox: Sandbox, report: Path) -> tuple[dict[str, Any], list[Judged]]:
    """Judge what was asked for; the report is written after every mutant, so that nothing is lost."""
    sources, listed = sources_of(sandbox.root), {} if asked.equivalents else equivalents()
    how = {"seed": asked.seed, "of_everything": not (asked.only or asked.file)}
    if asked.again:
        how, rows = stored_report(report)
        rows = again(rows, sources)
    else:
        rows = [Judged(mutant=m) for m in chosen(asked, sources)]
    for k, row in enumerate(rows):
        if (why := reason(row.mutant, listed)) is not None:
            rows[k] = replace(row, state="equivalent", by=why)
    if asked.list or not rows:
        return how, rows
    coverage = Coverage(sandbox, BUILD / "coverage.json", asked.tests, stale=asked.stale)
    coverage.measure(asked.workers)
    for _ in range(2):  # again for what a test killed that fails by itself
        if all(row.state != "waiting" for row in rows):
            break
        done = sum(row.state != "waiting" for row in rows)
        for k, row in judge_all(rows, sources, coverage, asked):
            rows[k], done = row, done + 1
            by = f"  by {row.by}" if row.by else "" if row.n_tests else "  no test reaches it"
            print(f"[{done}/{len(rows)}] {row.state} {row.seconds:.0f} s  {row.mutant}{by}", flush=True)
            store_report(report, how, rows)
        rows = doubted(rows, coverage)
    store_report(report, how, rows)
    return how, rows


def judge_fresh(asked: argparse.Namespace, sandbox: Sandbox) -> int:
    """A sample for each seed, one after the other, and the rule over all of them."""
    samples = {}
    for seed in asked.fresh or SEEDS:
        one = argparse.Namespace(**{**vars(asked), "seed": seed, "sample": min(asked.sample, FRESH)})
        samples[seed] = run(one, sandbox, BUILD / f"report-{seed}.json")[1]
        print(f"--seed {seed}\n{printed(samples[seed])}\n", flush=True)
    text, good = verdict(samples)
    print(text)
    return 0 if good else 1


def main() -> int:
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a run in progress is stopped too
    sandbox = Sandbox(ROOT, BUILD / "kernels", ROOT.parent / "shared")
    try:
        if asked.fresh is not None:
            return judge_fresh(asked, sandbox)
        how, rows = run(asked, sandbox, BUILD / ("equivalents.json" if asked.equivalents else "report.json"))
    finally:
        sandbox.remove()
    if asked.list:
        for m in (row.mutant for row in rows):
            print(f"{m.file}:{m.line}  {m.kind}\n-{m.before}\n+{m.after}")
        return 0
    if not rows:
        print("no mutant is there to judge; --list shows what there is")
        return 0 if asked.equivalents else 1
    print(printed(rows))
    if asked.equivalents:
        return 1 if any(row.state == "killed" for row in rows) else 0
    if asked.docs:
        if not how["of_everything"]:
            raise SystemExit("the last report is of some files only; --docs needs a sample of everything")
        fill(PAGE, "mutants", documented(rows, how["seed"]))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if share(rows) >= ENOUGH else 1


if __name__ == "__main__":
    raise SystemExit(main())
