"""What cannot be done is refused in words that help, and nothing of the user's is touched or half-written."""

from __future__ import annotations

import resource
import shutil

import mujoco
import pytest

import backemf as be
from backemf.apps.cli import exports
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName
from backemf.targets.mujoco.edited_model import EditedModel

from ..cli.runner import runner
from .known import SCENES, SERVO, load, scene

run = runner(exports.export, exports.replay)
LINE = ("export", "mx-106/m1", "--to", "mujoco", "--method", "formula")


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def leg(tmp_path):
    """A user's own copy of the leg."""
    shutil.copy(scene("leg"), tmp_path)
    shutil.copytree(SCENES / "leg", tmp_path / "leg")
    return tmp_path / "leg.xml"


def put_servo(path, joint="knee"):
    edited = be.export({joint: SERVO}, "mujoco", into=path, method="formula")
    assert isinstance(edited, EditedModel)
    return edited


def test_the_shell_says_what_is_wrong(leg):
    """Unknown joints with near names, no model, no part; and every file stays."""
    before = contents(leg.parent)
    for words, error, said in (
        (("--into", leg, "--joint", "kneee"), UnknownName, r"unknown joint in leg\.xml 'kneee'.*'knee'"),
        (("--into", leg, "--joint", "[bad"), InvalidValue, r"'\[bad' is no joint and no regular expression"),
        (("--into", leg.with_name("lag.xml"), "--joint", "knee"), MissingValue, r"no file .*lag\.xml"),
        (("--into", leg, "--joint", "knee", "-o", leg), BackemfError, r"leg\.xml exists; .*--force"),
        (("--into", leg, "--joint", "knee", "-o", leg.parent / "no" / "x.xml"), BackemfError, r"no folder"),
    ):
        with pytest.raises(error, match=said):
            run(*LINE, *words)
        assert contents(leg.parent) == before
    out = run(*LINE, "--into", leg, "--joint", "knee", "-o", leg.with_name("new.xml"))
    assert "actuator of knee: <position> (kp 25, kv 1) became <dcmotor>" in out.said
    assert {path: content for path, content in contents(leg.parent).items() if path in before} == before
    assert load(leg.with_name("new.xml")).nu == 3


@pytest.mark.parametrize("way", [put_servo, lambda path: be.attach(path, {"knee": SERVO})])
def test_mujocos_own_words_are_quoted(leg, way):
    """Of a model that it does not compile, in an included file too."""
    links = leg.parent / "leg" / "links.xml"
    for broken in (b'mass="-1"', b'mass="heavy"', b'masss="1"'):
        good = links.read_bytes()
        links.write_bytes(good.replace(b'mass="0.4"', broken))
        with pytest.raises(ValueError, match=r"\S") as told:
            mujoco.MjModel.from_xml_path(str(leg))
        with pytest.raises(InvalidValue, match=r"leg\.xml") as error:
            way(leg)
        assert " ".join(str(told.value).split()) in str(error.value)
        links.write_bytes(good)
    links.unlink()
    with pytest.raises(BackemfError, match=r"links\.xml"):
        way(leg)


def test_nothing_is_half_written(leg):
    """A place of one of several files that is taken, and a disk that is full: the old files stay alone."""
    edited, new = put_servo(leg, "ankle"), leg.with_name("new.xml")
    edited.write(new)
    before = contents(leg.parent)
    with pytest.raises(BackemfError, match=r"new\.xml exists; give another name"):
        edited.write(new)
    other = put_servo(leg, "hip|knee|ankle")
    with pytest.raises(BackemfError, match=r"exists; give another name"):
        other.write(new)
    assert contents(leg.parent) == before
    (leg.parent / "leg" / "new_links.xml").unlink()
    (leg.parent / "leg" / "new_links.xml").mkdir()
    before = contents(leg.parent)
    with pytest.raises(BackemfError, match=r"new_links\.xml' is a folder"):
        other.write(new, force=True)
    assert contents(leg.parent) == before
    (leg.parent / "leg" / "new_links.xml").rmdir()
    before, most = contents(leg.parent), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, most[1]))  # some of the files fit, the model does not
    try:
        with pytest.raises((BackemfError, OSError)):
            other.write(new, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert contents(leg.parent) == before
    other.write(new, force=True)
    assert load(new).nu == 3


def test_assets_that_would_not_be_found_are_missed_before_writing(tmp_path):
    """A mesh beside the model: the result may stand beside it too, and not where the mesh is not."""
    corners = "".join(f"v {x} {y} {z}\n" for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1))
    (tmp_path / "block.obj").write_text(corners + "f 1 2 3\nf 2 3 4\nf 5 6 7\nf 6 7 8\n")
    path, elsewhere = tmp_path / "arm.xml", tmp_path / "elsewhere"
    path.write_text(
        '<mujoco><asset><mesh name="block" file="block.obj"/></asset><worldbody><body><joint name="knee"'
        ' axis="0 1 0"/><geom type="mesh" mesh="block" mass="0.2"/></body></worldbody></mujoco>'
    )
    elsewhere.mkdir()
    edited = put_servo(path)
    with pytest.raises(InvalidValue, match=r"does not compile from .*elsewhere.*block\.obj"):
        edited.write(elsewhere / "new.xml")
    assert contents(elsewhere) == {}
    assert load(edited.write(tmp_path / "new.xml")[0]).nu == 1


def test_in_place_writes_every_file_where_it_is(leg):
    before = contents(leg.parent)
    with pytest.raises(InvalidValue, match="--in-place writes where the files are, and -o is"):
        run(*LINE, "--into", leg, "--joint", "knee", "--in-place", "-o", leg.with_name("new.xml"))
    assert contents(leg.parent) == before
    run(*LINE, "--into", leg, "--joint", "knee", "--in-place")
    after = contents(leg.parent)
    assert after.keys() == before.keys()
    changed = {path.name for path in after if after[path] != before[path]}
    assert changed == {"leg.xml", "drives.xml", "links.xml"}
    assert load(leg).nu == 3
