"""Every template of code, filled in by the targets that use it: C compiles without a warning, Python has
nothing that ruff minds, no place is left, and no template lies about that nobody fills."""

from __future__ import annotations

import functools
import io
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from backemf.apps.playground import page_kernels
from backemf.engine.system import ActuatorSystem
from backemf.errors import InvalidValue
from backemf.physics.bench import Recorded
from backemf.targets import template
from backemf.targets.code import c, fmi, plugin
from backemf.targets.export import export
from backemf.targets.training import jax, mjx, torch, warp

from ..conftest import unavailable
from .code.variants import VARIANTS

CODE = (
    "actuator.c",
    "actuator.h",
    "driver.c",
    "fmi.c",
    "fmi2.c",
    "fmi3.c",
    "jax.py",
    "jax_mjx.py",
    "mjlab.py",
    "plugin.c",
    "plugin.mk",
    "plugin.xml",
    "plugin_kind.c",
    "plugin_row.c",
    "torch.py",
    "torch_isaaclab.py",
    "warp.py",
    "warp_mujoco_warp.py",
    "warp_newton.py",
)
"""Templates of files that are run."""
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only")
TARGETS = ("c", "c@float", "fmu", "fmu@3.0", "mujoco-plugin")
FILES = (
    "torch",
    "torch@isaaclab",
    "torch@mjlab",
    "warp",
    "warp@mjlab",
    "warp@newton",
    "warp@mujoco-warp",
    "jax",
    "jax@mjx",
)
LATE, WARM, BRAKE = "drive filter within limits, late", "inductance and heat", "drive brake"
SOME = (LATE, WARM, BRAKE)
"""Variants with a delay, with a temperature, and with nothing to follow."""
PLACE = re.compile(r"@(if )?\w+@")


@functools.cache
def written(name: str, target: str) -> dict[str, str]:
    """The texts of an export, those inside an archive too."""
    texts = {}
    for path, content in export(VARIANTS[name], target, joint="knee", replay=False).files.items():
        if isinstance(content, str):
            texts[path] = content
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inside = [part for part in archive.namelist() if part.startswith("sources/")]
            texts |= {Path(part).name: archive.read(part).decode() for part in inside}
    return texts


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SOME)
def test_c_compiles_without_a_warning(name, target, tmp_path):
    if shutil.which("cc") is None:
        unavailable("cc")
    texts = written(name, target)
    for path, text in texts.items():
        (tmp_path / path).write_text(text)
    more: tuple[str, ...] = ()
    if target == "mujoco-plugin":
        mujoco = pytest.importorskip("mujoco")
        more = ("-isystem", str(plugin.places(mujoco)[0]))
    sources = [path for path in texts if path.endswith(".c")]
    command = ["cc", *STRICT, *more, *sources]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", FILES)
def test_python_has_nothing_that_ruff_minds(target, tmp_path):
    if shutil.which("ruff", path=str(Path(sys.executable).parent)) is None:
        unavailable("ruff")
    for name in SOME:
        if not VARIANTS[name].drive.targets and "@" in target:
            continue
        for path, text in written(name, target).items():
            (tmp_path / f"{name}_{path}").write_text(text)
    rules = ("--isolated", "--no-cache", "--select=E,F,W,B", "--ignore=E501,E741,B905", "--line-length=110")
    command = [str(Path(sys.executable).parent / "ruff"), "check", *rules, "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("target", [*TARGETS, *FILES])
def test_no_place_is_left(target):
    for path, text in written(LATE, target).items():
        assert not PLACE.search(text), path


def test_the_scripts_of_a_page_are_javascript(tmp_path):
    if shutil.which("node") is None:
        unavailable("node")
    found = page_kernels.PageKernels()
    for name in SOME:
        inputs = ("inertia", "load", *VARIANTS[name].drive.targets)
        found.place(ActuatorSystem(actuator=VARIANTS[name], bench=Recorded(), inputs=inputs))
    (tmp_path / "page.js").write_text(page_kernels.rows_script() + found.script())
    done = subprocess.run(
        ["node", "--check", "page.js"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_template_of_code_is_filled_by_somebody():
    folder = files("backemf.targets").joinpath("templates")
    there = {place.name.removesuffix(".in") for place in folder.iterdir()}
    assert set(CODE) <= there
    texts = [
        Path(str(module.__file__)).read_text(encoding="utf-8")
        for module in (c, fmi, plugin, jax, mjx, torch, warp)
    ]
    for name in CODE:
        asked = f'"{name}"' if not name.startswith(("fmi2", "fmi3")) else 'f"{fmi}.c"'
        assert any(asked in text for text in texts), name


def test_a_place_without_a_word_is_refused():
    with pytest.raises(InvalidValue, match=r"the template plugin\.mk has a place for source"):
        template.fill("plugin.mk")


def test_parts_and_lines_that_a_file_does_not_have_go():
    text = template.PART.sub(lambda part: "", "a\n@if late@\nb @name@\n@end@\nc\n")
    assert text == "a\nc\n"
    assert "KNEE_LINE" in written(LATE, "c")["knee.c"]
    assert "KNEE_LINE" not in written(BRAKE, "c")["knee.c"]
