"""Kernels on disk: found again without JAX, shared by processes, rebuilt when broken,
and never in the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import backemf
import backemf as be
from backemf.engine.compile import cache
from backemf.engine.compile.compiler import Structure
from backemf.engine.system import ActuatorSystem
from backemf.physics.quantity import part

SMALL = (
    "from numba import njit\n\n\n@njit('float64(float64)', cache=CACHE)\ndef kernel(x):\n    return 2.0 * x\n"
)
SIMULATION = """
import sys, time
import numpy, numba
import backemf as be
from backemf.engine.compile.kernels import kernels
from backemf.engine.rows import hold_inputs as held
from backemf.engine.system import ActuatorSystem
start = time.process_time()
motor = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
actuator = be.Actuator(motor=motor, friction=be.friction.Coulomb(coulomb=0.05))
found = be.simulate(actuator, be.bench.Flywheel(inertia=0.01), 4.0, duration=0.1, substeps=1)
print(time.process_time() - start, "jax" in sys.modules, float(found.position[-1]).hex())
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def counted():
    """A source, and how often it was asked for."""
    asked = []
    return (lambda: asked.append(1) or SMALL), asked


def kernels_in(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.is_dir())


def process(code: str, **variables: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(running: subprocess.Popen) -> list[str]:
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    return out.split()


def test_several_processes_build_at_once_and_the_next_needs_neither_jax_nor_time(tmp_path):
    where = {cache.VARIABLE: str(tmp_path)}
    together = [process(SIMULATION, **where) for _ in range(2)]
    cold = [answer(running) for running in together]
    assert {row[1] for row in cold} == {"True"}
    assert len(kernels_in(tmp_path)) == 1
    # nothing left behind: beside the kernel, what the physics parsed to, and the structure
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", ".index", ".index"]
    seconds, jax, result = answer(process(SIMULATION, **where))
    assert jax == "False"
    assert float(seconds) < 1.5
    assert {row[2] for row in cold} == {result}


def test_a_kernel_is_built_once(here):
    write, asked = counted()
    assert cache.load("a" * 32, write).kernel(3.0) == 6.0
    again = cache.load("a" * 32, write)
    assert again.kernel(3.0) == 6.0
    assert len(asked) == 1
    assert sum(again.kernel.stats.cache_hits.values()) == 1  # machine code from the disk, not compiled


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


DAMAGE = {
    "a flipped bit in the machine code": lambda d: flip(next(d.rglob("*.nbc"))),
    "machine code cut off": lambda d: next(d.rglob("*.nbc")).write_bytes(b""),
    "machine code missing": lambda d: next(d.rglob("*.nbc")).unlink(),
    "an index of something else": lambda d: next(d.rglob("*.nbi")).write_bytes(b"nonsense"),
    "another source": lambda d: (d / "kernel.py").write_text("kernel = None"),
    "a list that is not one": lambda d: (d / "checksums.json").write_text("["),
    "no list": lambda d: (d / "checksums.json").unlink(),
    "a list that matches a source that does not run": lambda d: (
        (d / "kernel.py").write_text("import nothing_of_that_name"),
        (d / "checksums.json").write_text(json.dumps(cache._checksums(d))),
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_broken_is_built_again(here, what):
    write, asked = counted()
    cache.load("b" * 32, write)
    DAMAGE[what](kernels_in(here)[0])
    assert cache.load("b" * 32, write).kernel(1.5) == 3.0
    assert len(asked) == 2
    assert cache.load("b" * 32, write).kernel(1.5) == 3.0
    assert len(asked) == 2


@pytest.mark.parametrize("content", [b"", b"\xff" * 32, b"c" * 31, b"c" * 32])
def test_a_broken_entry_of_the_index_is_written_again(here, content):
    """Cut off, not text, or the name of a kernel that is not there: the kernel is found by its source."""
    write, asked = counted()
    cache.load("a" * 32, write)
    entry = here / f"{'a' * 32}.index"
    before = entry.read_bytes()
    entry.write_bytes(content)
    again = cache.load("a" * 32, write)
    assert sum(again.kernel.stats.cache_hits.values()) == 1
    assert (len(asked), entry.read_bytes()) == (2, before)


def test_structures_with_one_source_share_a_kernel(here):
    for digit in "123":
        cache.load(digit * 32, counted()[0])
    assert len(kernels_in(here)) == 1
    write, asked = counted()
    cache.load("2" * 32, write)
    assert not asked


def test_another_compiler_of_ours_compiles_anew(here, tmp_path, monkeypatch):
    """The instructions of a source come from `machine.py`: with that edited, the kernel is another."""
    cache.load(None, counted()[0])
    edited = tmp_path / "machine.py"
    edited.write_text("x = 1")
    monkeypatch.setattr(cache, "_compilers", lambda text: [edited])
    monkeypatch.setattr(cache, "is_stale", lambda paths=None: False)
    cache.load(None, counted()[0])
    assert len(kernels_in(here)) == 2
    edited.write_text("x = 2")
    monkeypatch.setattr(cache, "is_stale", lambda paths=None: True)  # under a running process: not kept
    assert cache.load(None, counted()[0]).kernel(2.0) == 4.0
    assert len(kernels_in(here)) == 2


def test_lanes_depend_on_both_files_that_write_their_instructions():
    text = "from backemf.engine.compile.dialects.vectors import body\n"
    assert [path.name for path in cache._compilers(text)] == ["vectors.py", "machine.py"]
    assert [path.name for path in cache._compilers("")] == ["machine.py"]


def test_without_a_usable_directory_a_temporary_one_serves(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file" / "kernels"))
    write, _ = counted()
    assert cache.load("c" * 32, write).kernel(1.0) == 2.0
    found = cache.directory()
    assert found is not None
    assert tmp_path not in found.parents
    assert found.stat().st_mode & 0o077 == 0 or os.name == "nt"  # nobody else may put machine code there


def test_without_a_home_too(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    nowhere = str(tmp_path / "file")
    code = "from backemf.engine.compile import cache; print(cache.directory())"
    found = answer(
        process(code, **{cache.VARIABLE: "", "HOME": nowhere, "XDG_CACHE_HOME": "", "LOCALAPPDATA": nowhere})
    )
    assert "backemf-" in found[0]
    assert not Path(found[0]).exists()  # gone with its process


def test_where_nothing_can_be_written_kernels_live_in_memory(monkeypatch):
    monkeypatch.setattr(cache, "directory", lambda: None)
    write, asked = counted()
    assert cache.load("d" * 32, write).kernel(1.0) == 2.0
    assert len(asked) == 1


def test_a_full_disk_is_no_obstacle(here, monkeypatch):
    def full(path, *rest, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert cache.load("e" * 32, counted()[0]).kernel(1.0) == 2.0
    assert list(here.iterdir()) == []


def test_an_upgrade_changes_every_name(monkeypatch):
    before = cache.name_of("structure", "normal")
    assert before == cache.name_of("structure", "normal")
    monkeypatch.setattr(cache, "environment", lambda: ("another version",))
    assert cache.name_of("structure", "normal") != before


def test_the_environment_names_what_matters():
    text = " ".join(cache.environment())
    for word in ("jax", "numba", "llvmlite", "numpy", sys.version.split()[0]):
        assert word in text


def test_settings_of_numba_are_left_alone_and_do_not_matter(here, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "elsewhere"))
    cache.load("f" * 32, counted()[0])
    # the checker knows its base class only
    assert str(tmp_path / "elsewhere") == numba.config.CACHE_DIR  # type: ignore[attr-defined]
    assert not (tmp_path / "elsewhere").exists()
    assert list(kernels_in(here)[0].rglob("*.nbc"))


def test_the_least_recently_used_go_first(here, monkeypatch):
    monkeypatch.setattr(cache, "MOST", 2)
    for factor in "123":
        cache.load(factor * 32, lambda factor=factor: SMALL.replace("2.0", f"{factor}.0"))
        for path in here.iterdir():  # file times are coarse: age what is there
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 100))
        if factor == "2":
            cache.load("1" * 32, counted()[0])
    assert sorted((path / "kernel.py").read_text()[-8] for path in kernels_in(here)) == ["1", "3"]
    write, asked = counted()
    assert cache.load("2" * 32, write).kernel(1.0) == 2.0  # its entry led to nothing
    assert asked


def test_clear_removes_kernels_and_nothing_else(here):
    cache.load("a" * 32, counted()[0])
    (here / ".git").mkdir()
    (here / "notes").mkdir()
    cache.clear()
    assert sorted(path.name for path in here.iterdir()) == [".git", "notes"]


@part
class Foreign(be.friction.Coulomb):
    """A friction from outside the package."""


def test_physics_from_outside_is_known_by_its_source(here):
    motor = be.motor.Motor(resistance=1.0, torque_constant=1.0)
    ours, theirs = (
        Structure(
            ActuatorSystem(
                actuator=be.Actuator(motor=motor, friction=friction),
                bench=be.bench.Flywheel(inertia=1.0),
                inputs=("voltage_target",),
            )
        )
        for friction in (be.friction.Coulomb(coulomb=0.1), Foreign(coulomb=0.1))
    )
    assert ours.name("normal") is not None
    assert theirs.name("normal") is None
    assert cache.load(None, counted()[0]).kernel(2.0) == 4.0
    write, asked = counted()
    again = cache.load(None, write)
    assert len(asked) == 1  # it must be written to know its name
    assert sum(again.kernel.stats.cache_hits.values()) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners and modes to ask for here")
def test_a_directory_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    """Machine code is run: it must not come from where somebody else can put it."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setenv(cache.VARIABLE, str(open_to_all))
    cache._usable.cache_clear()
    used = cache.directory()
    assert used is not None
    assert used != open_to_all
    assert used.stat().st_mode & 0o077 == 0
    old = os.umask(0)
    try:
        monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "new"))
        made = cache.directory()
    finally:
        os.umask(old)
    assert made == tmp_path / "new"
    assert made.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "getuid", lambda: made.stat().st_uid + 1)
    assert not cache._is_private(made)


STEPS = """
import pathlib, sys, time
import backemf as be
motor = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3)
bench = be.bench.Spring(inertia=1e-3, stiffness=0.5)
if sys.argv[1:]:
    import backemf.engine.simulate  # the physics is loaded, but nothing compiled yet
    source, before, after = pathlib.Path(be.bench.__file__), *sys.argv[1:]
    time.sleep(0.05)
    source.write_text(source.read_text().replace(before, after))
run = be.simulate(be.Actuator(motor=motor), bench, 3.0, duration=0.5)
print(run.position[-1], "jax" in sys.modules)
"""
PULL = "-self.stiffness * (q - self.rest)"


def test_edited_physics_runs_and_an_edited_docstring_compiles_nothing(tmp_path):
    package, kernels = tmp_path / "src", tmp_path / "kernels"
    ignored = shutil.ignore_patterns("__pycache__", "*.html", "*.js", "*.json")
    shutil.copytree(Path(backemf.__file__).parent, package / "backemf", ignore=ignored)
    source = package / "backemf" / Path(be.bench.__file__).relative_to(Path(backemf.__file__).parent)
    variables = {**os.environ, cache.VARIABLE: str(kernels), "PYTHONPATH": str(package)}

    def edit(before: str, after: str) -> None:
        text = source.read_text()
        assert text.count(before) == 1
        source.write_text(text.replace(before, after))

    def simulate(*edited: str) -> tuple[float, bool, int]:
        """Where the spring ends, whether the physics was traced, and how many kernels there are."""
        done = subprocess.run(
            [sys.executable, "-c", STEPS, *edited], env=variables, capture_output=True, text=True, check=True
        )
        end, traced = done.stdout.split()
        return float(end), traced == "True", len(kernels_in(kernels))

    stiffer = PULL.replace("-self", "-3.0 * self")
    # A process that loaded the old physics must not leave its kernel where the new one is looked for.
    old, _, _ = simulate(PULL, stiffer)
    assert stiffer in source.read_text()
    new, *compiled = simulate()
    assert new < 0.6 * old
    assert compiled == [True, 2]
    edited, n = re.subn(r'(?m)^( *""")(?=\w)', r"\1Edited: ", source.read_text())
    assert n > 10
    source.write_text(edited + "\n# a remark\n")
    assert simulate() == (new, False, 2)
    edit(stiffer, f"+({stiffer})")  # other code, and the same source: traced, not compiled
    assert simulate() == (new, True, 2)
    edit(f"+({stiffer})", stiffer.removeprefix("-"))  # pushes instead of pulling
    away, *compiled = simulate()
    assert away > 2.0 * old
    assert compiled == [True, 3]
