"""A package of somebody else's, installed into a clean environment: its reader, friction law, target, command
and finding work in Python, in the shell, in the app and in the docs, and nothing here knows of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import venv
from pathlib import Path

import pytest

import backemf

from .conftest import needed
from .web.conftest import Server

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "tests" / "plugin"
PAGE = ROOT / "docs" / "extend.md"
MAIN = "from backemf.apps.cli.main import main; main()"


class Environment:
    """An interpreter of its own that sees the packages here, and one more."""

    def __init__(self, folder: Path):
        venv.create(folder / "env", with_pip=False, symlinks=os.name != "nt")
        place = "Scripts" if os.name == "nt" else "bin"
        self.python = folder / "env" / place / Path(sys.executable).name
        if not self.python.exists():
            self.python = folder / "env" / place / "python"
        packages = sysconfig.get_path("purelib", vars={"base": str(folder / "env")})
        seen = [str(Path(backemf.__file__).parent.parent), sysconfig.get_path("purelib")]
        (Path(packages) / "here.pth").write_text("\n".join(seen) + "\n", encoding="utf-8")
        self.folder, self.packages = folder, packages
        self.environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self.environ |= {"COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}

    def install(self, package: Path) -> None:
        copy = shutil.copytree(package, self.folder / "build" / package.name)  # building leaves files behind
        words = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
        words += ["--disable-pip-version-check", "--target", self.packages, str(copy)]
        subprocess.run([sys.executable, *words], check=True, capture_output=True, env=self.environ)

    def run(self, code: str, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            [str(self.python), "-c", textwrap.dedent(code), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=self.environ,
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def shell(self, *words: str, fails: bool = False) -> str:
        return self.run(MAIN, *words, fails=fails)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    made = Environment(folder)
    made.install(PLUGIN)
    rows = [(10 * k, 20.0 * (k > 30), 20.0 * (k > 28)) for k in range(100)]
    rows[60:] = [(t - 600, q, goal) for t, q, goal in rows[60:]]
    text = "ACME BENCH 7\n" + "".join(f"{t} {q} {goal}\n" for t, q, goal in rows)
    (folder / "run.acme").write_text(text, encoding="utf-8")
    return made


def test_the_package_is_no_part_of_ours():
    ours = [p for p in (ROOT / "src").rglob("*") if p.suffix in (".py", ".toml", ".js")]
    assert not [p for p in ours if "acme" in p.read_text(encoding="utf-8").lower()]


def test_its_rows_work_in_python(environment):
    said = environment.run(
        """
        import json, warnings
        import backemf as be
        from backemf.engine.compile.compiler import Structure
        from backemf.engine.system import ActuatorSystem
        from backemf.identify.frictions import with_friction
        from backemf_acme.friction import Grease

        (log,) = be.read("run.acme")
        servo = with_friction(be.Actuator.read("mx-106/m1"), "grease")
        servo.write("servo.json", force=True)
        again = be.Actuator.read("servo.json")
        bench = be.bench.Pendulum(mass=0.5, length=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that it cannot be compiled would be a warning
            moved = be.simulate(servo, bench, be.signal.step(0.5), duration=0.5, dt=0.01)
        system = ActuatorSystem(actuator=servo, bench=bench, inputs=("position_target",))
        made = be.export(servo, "acme", joint="knee")
        print(json.dumps({
            "findings": [f.code for f in log.findings],
            "span": float(log.time[-1]),
            "same": again == servo and type(again.friction) is Grease,
            "name": again.friction.name,
            "moved": float(moved.position[-1]),
            "kept": Structure(system).name("trajectory"),
            "lossless": made.lossless,
            "line": [line for line in made.text.splitlines() if line.startswith("friction.grease")],
        }))
        """
    )
    found = json.loads(said.splitlines()[-1])
    assert found["findings"] == ["acme_restarted"]
    assert found["span"] == pytest.approx(0.99)
    assert found["same"]
    assert found["name"] == "grease"
    assert found["lossless"]
    assert found["moved"] == pytest.approx(0.5, abs=0.1)
    assert found["kept"] is None  # compiled, and not kept on the disk: its code may change unnoticed
    assert len(found["line"]) == 2


def test_its_rows_work_in_the_shell(environment):
    assert "acme-table" in environment.shell("--help")
    assert "friction" not in environment.shell("acme-table", "mx-106/m4", "--only", "motor")
    assert "motor.resistance" in environment.shell("acme-table", "mx-106/m4")
    assert "Acme" in environment.shell("log", "run.acme", "--bench", "pendulum mass=0.5kg length=0.1m")
    assert "for acme" in environment.shell("export", "mx-106/m4", "--to", "acme", "--joint", "knee")
    refused = environment.shell("fit", "run.acme", "--start", "mx-106", "--friction", "greese", fails=True)
    assert "did you mean 'grease'" in refused
    assert "did you mean 'acme'" in environment.shell("export", "mx-106", "--to", "acmee", fails=True)


def test_its_rows_work_in_the_app(environment, tmp_path):
    needed("fastapi")
    server = Server(tmp_path, python=str(environment.python)).start()
    try:
        _, offered = server.ask("GET", "/hello")
        assert "grease" in offered["frictions"]
        assert offered["targets"]["acme"] == "a table for Acme's controller"
        assert ".acme" in offered["kinds"]["recordings"]
        fields = {one["name"]: one["kind"] for one in offered["commands"]["acme-table"]["fields"]}
        assert fields == {"source": "source", "only": "text"}
        project = server.project()
        status, kept = project.put("run.acme", (environment.folder / "run.acme").read_bytes())
        assert (status, kept["name"]) == (200, "run.acme")
        looked = project.run(command="log", logs=["run.acme"])
        (one,) = project.answer(looked)["recordings"]
        assert one["format"] == "Acme"
        table = project.run(command="acme-table", source="mx-106/m4", only="friction")
        assert table["shown"] == "backemf acme-table mx-106/m4 --only friction"
        assert set(project.answer(table)["values"]) >= {"friction.coulomb", "friction.viscous"}
        exported = project.run(command="export", source="mx-106/m4", to="acme")
        assert exported["made"] == ["acme-1/joint.table"]
        status, refused = project.begin(command="acme-table", source="mx-106/m4", only="../secret")
        assert status == 400, refused
    finally:
        server.end()


def test_its_rows_stand_in_the_docs(environment):
    said = environment.run(
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        import docs_tables
        for name in ("command_line", "parameters", "rows", "findings"):
            print(getattr(docs_tables, name)())
        print(docs_tables.mapping("acme"))
        """,
        str(ROOT / "scripts"),
    )
    assert "## `backemf acme-table`" in said
    assert "| `friction.grease_velocity` | w_g | rad/s |" in said.replace("\N{NO-BREAK SPACE}", " ")
    for row in ("| friction | `grease` |", "| reader | `acme` |", "| target | `acme` |"):
        assert row in said
    assert "| `acme_restarted` | Acme's bench was switched on again during the recording |" in said
    assert "a line NAME = VALUE" in said


def test_the_page_shows_these_files():
    """Every file of the package stands in docs/extend.md as it is."""
    page = PAGE.read_text(encoding="utf-8")
    for path in [PLUGIN / "pyproject.toml", *sorted((PLUGIN / "backemf_acme").glob("[a-z]*.py"))]:
        language = "toml" if path.suffix == ".toml" else "python"
        assert f"```{language}\n{path.read_text(encoding='utf-8')}```" in page, path.name


def test_the_page_s_commands_do_what_it_says(environment):
    shown = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in shown for line in block.splitlines()]
    assert len([line for line in lines if line.startswith("$ backemf")]) >= 4
    printed = ""
    for line in lines:
        if line.startswith("$ backemf "):
            printed = environment.shell(*shlex.split(line.removeprefix("$ backemf ")))
        elif not line.startswith("$"):
            assert line in printed, line


def test_a_package_that_cannot_be_loaded_is_named(environment, tmp_path):
    broken = tmp_path / "broken"
    (broken / "backemf_broken").mkdir(parents=True)
    (broken / "backemf_broken" / "__init__.py").write_text("raise ImportError('no libmotor.so')\n")
    text = (PLUGIN / "pyproject.toml").read_text(encoding="utf-8")
    head = text.partition("[project.entry")[0].replace("backemf-acme", "backemf-broken")
    rows = '[project.entry-points."backemf.targets"]\nbroken = "backemf_broken:TARGET"\n'
    table = '[tool.setuptools]\npackages = ["backemf_broken"]\n'
    (broken / "pyproject.toml").write_text(head + rows + table, encoding="utf-8")
    environment.install(broken)
    said = environment.shell("export", "mx-106/m4", "--to", "nowhere", fails=True)
    assert "the target 'broken' of the package backemf-broken cannot be loaded" in said
    assert "no libmotor.so" in said
    assert "unknown target 'nowhere'" in said
