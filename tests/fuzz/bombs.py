"""Small files that mean harm: that unpack to gigabytes, never end, are no files, or count to infinity."""

from __future__ import annotations

import functools
import io
import json
import os
import socket
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

GIGA = 1 << 30
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


class Bomb(NamedTuple):
    """A hostile file: what it is, its format as `seeds` calls it, and how it comes to be in a folder."""

    name: str
    kind: str
    make: Callable[[Path], Path]


def written(name: str, content: bytes | Callable[[], bytes]) -> Callable[[Path], Path]:
    """A file of this name and content, which is made when it is needed."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content())
        return path

    return make


def zeros(mega: int, level: int = 9) -> bytes:
    """So many megabytes of zeros, as zlib packs them."""
    machine, block = zlib.compressobj(level), bytes(1 << 20)
    return b"".join(machine.compress(block) for _ in range(mega)) + machine.flush()


def npz(mega: int, dtype: str = "<f8", shape: tuple[int, ...] | None = None, n: int = 1) -> bytes:
    """An archive of zeros; with a shape, one that lies."""
    out, header = io.BytesIO(), io.BytesIO()
    size = (mega << 20) // np.dtype(dtype).itemsize
    facts = {"descr": dtype, "fortran_order": False, "shape": shape or (size,)}
    np.lib.format.write_array_header_1_0(header, facts)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for k in range(n):
            with archive.open(f"{'time' if k == 0 else f'x{k}'}.npy", "w", force_zip64=True) as f:
                f.write(header.getvalue())
                for _ in range(mega):
                    f.write(bytes(1 << 20))
    return out.getvalue()


def npy(shape: tuple[int, ...]) -> bytes:
    out = io.BytesIO()
    facts = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, facts)
    return out.getvalue() + bytes(80)


def mat(mega: int, kind: int = 9, width: int = 8) -> bytes:
    """A compressed variable of zeros."""
    n = (mega << 20) // width
    flags = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIII", 5, 8, n, 1)
    body = flags + struct.pack("<II", 1, 1) + b"x".ljust(8, b"\0") + struct.pack("<II", kind, n * width)
    machine, block = zlib.compressobj(6), bytes(1 << 20)
    packed = machine.compress(struct.pack("<II", 14, len(body) + n * width) + body)
    packed += b"".join(machine.compress(block) for _ in range(mega)) + machine.flush()
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return header + struct.pack("<II", 15, len(packed)) + packed


def parquet(rows: int, columns: int = 1) -> bytes:
    import pyarrow
    import pyarrow.parquet

    column = pyarrow.array(np.zeros(rows))
    table = pyarrow.table({f"time{k or ''}": column for k in range(columns)})
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def db3(*statements: str) -> Callable[[Path], Path]:
    """A bag whose tables are made by these statements, beside those that it must have."""
    usual = (
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT,"
        " offered_qos_profiles TEXT)",
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)",
        "INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', '')",
    )

    def make(folder: Path) -> Path:
        path = folder / "log.db3"
        path.unlink(missing_ok=True)
        base = sqlite3.connect(path)
        for statement in (*usual, *statements):
            base.execute(statement)
        base.commit()
        base.close()
        return path

    return make


@functools.cache
def packed_zeros(mega: int, compression: str) -> bytes:
    from rosbags.rosbag2.storage_mcap import zstd

    if compression == "zstd":
        return zstd.compress(bytes(mega << 20))
    import lz4.frame

    return lz4.frame.compress(bytes(mega << 20))


def mcap(mega: int, compression: str, announced: int) -> bytes:
    """A bag with one part of zeros that says that it unpacks to `announced` bytes."""
    packed = packed_zeros(mega, compression)

    def record(op: int, content: bytes) -> bytes:
        return bytes([op]) + struct.pack("<Q", len(content)) + content

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode()

    magic = b"\x89MCAP0\r\n"
    chunk = (
        struct.pack("<QQQI", 0, 1, announced, 0) + text(compression) + struct.pack("<Q", len(packed)) + packed
    )
    header, footer = record(1, text("ros2") + text("x")), record(2, bytes(20))
    return magic + header + record(6, chunk) + footer + magic


def sparse(name: str, head: bytes, size: int) -> Callable[[Path], Path]:
    """A file that takes no room on disk and has a size."""

    def make(folder: Path) -> Path:
        path = written(name, head)(folder)
        os.truncate(path, size)
        return path

    return make


def link(name: str, to: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(to)
        return path

    return make


def pipe(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        return path

    return make


def listening(name: str) -> Callable[[Path], Path]:
    """A socket in the file system."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.unlink(missing_ok=True)
        here = os.getcwd()
        os.chdir(folder)  # the name of a socket may have 108 letters
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(name)
        finally:
            os.chdir(here)
        return path

    return make


def model(inner: str, **beside: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """A model around some elements, with other files beside it."""

    def make(folder: Path) -> Path:
        for one in beside.values():
            one(folder)
        joint = '<joint name="knee" type="hinge"/><geom size="0.1"/>'
        body = f'<worldbody><body>{joint}</body></worldbody><actuator><motor joint="knee"/></actuator>'
        return written("model.xml", f"<mujoco>{inner}{body}</mujoco>".encode())(folder)

    return make


def png(width: int, height: int) -> bytes:
    def part(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    about = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", about) + part(b"IDAT", zeros(64)) + part(b"IEND", b"")


def clocks(rng: np.random.Generator) -> Iterator[tuple[str, list[float]]]:
    """Times that no clock gives."""
    n = 40
    even = np.linspace(0.0, 1.0, n)
    yield "near 1e300", (1e300 * (1.0 + even)).tolist()
    yield "of 1e308 and back", np.where(even > 0.5, 1e308, -1e308).tolist()
    yield "of 1e-300", (1e-300 * even).tolist()
    yield "of 5e-324", (5e-324 * np.arange(n)).tolist()
    yield "NaN", [float("nan")] * n
    yield "some NaN", np.where(rng.random(n) < 0.3, np.nan, even).tolist()
    yield "infinite", [float("inf")] * n
    yield "one infinite", [*even[:-1].tolist(), float("inf")]
    yield "all the same", [1.0] * n
    yield "backwards", even[::-1].tolist()
    yield "shuffled", rng.permutation(even).tolist()
    yield "of 2**63 ns", (even + 2.0**63).tolist()
    yield "one jump of 1e15", [*even[:20].tolist(), *(even[20:] + 1e15).tolist()]


NAMED = {
    "table": "log.csv", "pendulum": "log.json", "recorded": "log.jsonl", "yaml": "log.yaml", "npz": "log.npz",
    "npy": "log.npy", "mat": "log.mat", "parquet": "log.parquet", "mcap": "log.mcap", "db3": "log.db3",
    "wpilog": "log.wpilog", "sheet": "sheet.toml", "actuator": "actuator.json", "fit": "fit.json",
    "motions": "plan.json", "mapping": "map.json", "bam": "bam.json", "isaac": "robot.py",
    "mjcf explained": "model.xml", "urdf edited": "model.urdf", "sysid": "sysid.json",
}  # fmt: skip
"""A file of each format that some reader opens."""
HEADS = {
    "table": b"time,position\n0,1\n1,2\n", "pendulum": b'{"entries": [', "yaml": b"time: [0, 1]\n",
    "npz": b"PK\x03\x04", "npy": b"\x93NUMPY\x01\x00", "mat": b"MATLAB 5.0 MAT-file".ljust(126) + b"IM",
    "parquet": b"PAR1", "mcap": b"\x89MCAP0\r\n", "db3": b"SQLite format 3\x00", "wpilog": b"WPILOG\x00\x01",
}  # fmt: skip


def no_files() -> Iterator[Bomb]:
    """What is there and no file, or larger than any, for every reader."""
    for kind, name in NAMED.items():
        yield Bomb(f"a pipe as {name}", kind, pipe(name))
        yield Bomb(f"/dev/zero as {name}", kind, link(name, "/dev/zero"))
        yield Bomb(f"/dev/urandom as {name}", kind, link(name, "/dev/urandom"))
        yield Bomb(f"a link to itself as {name}", kind, link(name, name))
        yield Bomb(f"a folder as {name}", kind, lambda folder, name=name: _folder(folder / name))
        yield Bomb(f"100 GB of nothing as {name}", kind, sparse(name, HEADS.get(kind, b"{"), 100 * GIGA))
        yield Bomb(f"1 GB of nothing as {name}", kind, sparse(name, HEADS.get(kind, b"{"), GIGA))
    yield Bomb("a socket as log.csv", "table", listening("log.csv"))


def _folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


def unpacking() -> Iterator[Bomb]:
    for mega in (200, 800):
        yield Bomb(f"npz of {mega} MB", "npz", written("log.npz", partial(npz, mega)))
        yield Bomb(f"mat of {mega} MB", "mat", written("log.mat", partial(mat, mega)))
    yield Bomb("npz of 100 MB of bytes", "npz", written("log.npz", partial(npz, 100, "|i1")))
    yield Bomb("npz of 20 times 20 MB", "npz", written("log.npz", partial(npz, 20, n=20)))
    yield Bomb("npz of 100 MB of text", "npz", written("log.npz", partial(npz, 100, "<U1000000")))
    yield Bomb("mat of 100 MB of bytes", "mat", written("log.mat", partial(mat, 100, 2, 1)))
    for shape in ((1 << 40,), (1 << 31, 1 << 31), (1 << 62,)):
        yield Bomb(f"npz of shape {shape}", "npz", written("log.npz", partial(npz, 1, shape=shape)))
        yield Bomb(f"npy of shape {shape}", "npy", written("log.npy", partial(npy, shape)))
    yield Bomb("parquet of 30 million rows", "parquet", written("log.parquet", partial(parquet, 30_000_000)))
    wide = partial(parquet, 3_000_000, 20)
    yield Bomb("parquet of 3 million rows of 20", "parquet", written("log.parquet", wide))
    for packing in ("zstd", "lz4"):
        for announced in (1000, 1 << 20, 800 << 20, 1 << 60):
            content = partial(mcap, 800, packing, announced)
            yield Bomb(f"mcap, {packing}, of {announced} bytes", "mcap", written("log.mcap", content))


def many_arrays(n: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for k in range(n):
            archive.writestr(f"x{k}.npy", npy((10,)))
    return out.getvalue()


def columns(named: dict[str, Any]) -> bytes:
    """A table in Parquet."""
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(named), out, compression="zstd")
    return out.getvalue()


def wide() -> Iterator[Bomb]:
    """Files of more channels than anything has, and of as many as are read, whose names take long."""
    made: dict[str, tuple[str, Callable[[], bytes]]] = {
        "60,000 arrays": ("npz", lambda: many_arrays(60_000)),
        "20,000 columns": ("parquet", lambda: columns({f"c{k}": [1.0] for k in range(20_000)})),
        "a list of 14 million": (
            "parquet",
            lambda: columns({"time": [0.0], "position": [np.zeros(14_000_000)]}),
        ),
        "4,000 units": ("parquet", lambda: columns({f"target [deg*s/s*{k}]": [1.0] for k in range(4000)})),
        "20,000 columns of text": ("table", lambda: b"\n".join([b",".join([b"1"] * 20_000)] * 9)),
        "20,000 lists": (
            "pendulum",
            lambda: json.dumps({f"k{k}": [1, 2, 3] for k in range(20_000)}).encode(),
        ),
    }
    for name, (kind, content) in made.items():
        yield Bomb(f"{kind}: {name}", kind, written(NAMED[kind], content))
    more = (
        "INSERT INTO topics WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c WHERE x < 300000)"
    )
    more = f"{more} SELECT x, '/t' || x, 'sensor_msgs/msg/JointState', 'cdr', '' FROM c"
    yield Bomb("db3: 300,000 topics", "db3", db3(more))


def questions() -> Iterator[Bomb]:
    """Bags whose tables are computed as they are read."""
    yield Bomb(
        "db3 without end in schema",
        "db3",
        db3(f"CREATE VIEW schema AS {ENDLESS} SELECT max(x) AS schema_version FROM c"),
    )
    many = f"{ENDLESS} SELECT x AS id, 1 AS topic_id, x AS timestamp, zeroblob(1000000) AS data FROM c"
    usual = ("ALTER TABLE messages RENAME TO m2", f"CREATE VIEW messages AS {many}")
    yield Bomb("db3 without end in messages", "db3", db3(*usual))
    large = (
        "CREATE TABLE schema(schema_version INTEGER)",
        "INSERT INTO schema VALUES (4)",
        f"CREATE VIEW message_definitions AS {ENDLESS} SELECT x AS id, 'a' AS topic_type, 'ros2msg' AS encod"
        "ing, hex(zeroblob(400000000)) AS encoded_message_definition, '' AS type_description_hash FROM c",
    )
    yield Bomb("db3 with a text of a gigabyte", "db3", db3(*large))
    cross = "CREATE TABLE schema AS SELECT 4 AS schema_version"
    grown = f"""CREATE VIEW message_definitions AS {ENDLESS.replace("FROM c", "FROM c WHERE x < 3000")}
        SELECT a.x AS id, '' AS topic_type, '' AS encoding, '' AS encoded_message_definition,
        '' AS type_description_hash FROM c a, c b, c d"""
    yield Bomb("db3 with a product of tables", "db3", db3(cross, grown))
    data = "INSERT INTO messages VALUES (1, 1, {time}, x'{bytes}')"
    for time in ("9223372036854775807", "-9223372036854775808", "1e300", "'text'", "NULL"):
        yield Bomb(f"db3 with a time of {time}", "db3", db3(data.format(time=time, bytes="00010000")))
    lies = "00010000" + "00" * 8 + "ffffff7f" + "00" * 16
    yield Bomb("db3 with a message of 2**31 names", "db3", db3(data.format(time=1, bytes=lies)))


def texts(rng: np.random.Generator) -> Iterator[Bomb]:
    deep = 50_000
    for name, content in {
        "lists": "[" * deep + "]" * deep,
        "objects": '{"a":' * deep + "1" + "}" * deep,
        "entries": '{"entries": [' + "[" * deep + "]" * deep + "]}",
        "two million empty lists": "[" + "[]," * 2_000_000 + "[]]",
        "an entry of two million lists": '{"entries": [{"a": [' + "[]," * 2_000_000 + "[]]}]}",
        "a new key in every entry": json.dumps({"entries": [{f"k{i}": i} for i in range(20_000)]}),
        "a number of a million digits": '{"time": [' + "9" * 1_000_000 + "]}",
        "a lone surrogate": '{"time": [0, 1], "position \\ud800": [0, 1], "a": "\\udfff"}',
        "a key of a megabyte": json.dumps({"k" * 1_000_000: [0, 1, 2], "time": [0, 1, 2]}),
    }.items():
        for kind in ("pendulum", "actuator", "mapping", "bam", "motions", "fit", "sysid"):
            yield Bomb(f"{kind}: {name}", kind, written(NAMED[kind], content.encode()))
    for name, content in {
        "one line of 20 MB": "time,position\n" + "1" * 20_000_000,
        "a million commas": "time,position\n" + "," * 1_000_000,
        "a header of a million": ",".join(f"c{k}" for k in range(300_000)) + "\n" + "1," * 299_999 + "1\n",
        "an open quote": 'time,position\n0,"' + "1,2\n" * 500_000,
        "lists in cells": 'time,position\n0,"[' + "1," * 1_000_000 + '1]"\n',
        "nested lists in cells": 'time,position\n0,"' + "[" * 100_000 + '"\n',
    }.items():
        yield Bomb(f"table: {name}", "table", written("log.csv", content.encode()))
    for name, content in {
        "aliases": "a0: &a0 [x, x]\n"
        + "".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]\n" for k in range(1, 60)),
        "an alias of itself": "time: &a [*a, *a]\n",
        "4 MB of brackets": "time: [" + "[]," * 1_200_000 + "[]]\n",
        "8 MB": "time: [" + "1, " * 2_700_000 + "1]\n",
        "deep blocks": "".join(" " * k + "a:\n" for k in range(2000)),
        "sequences in one another": "- " * 100_000 + "1\n",
        "keys in one another": "? " * 60_000 + "\n",
        "a number to the base of 60": "time: " + "1:" * 200_000 + "1\n",
        "a million anchors": "".join(f"k{k}: &a{k} 1\n" for k in range(100_000)),
    }.items():
        yield Bomb(f"yaml: {name}", "yaml", written("log.yaml", content.encode()))
    for name, content in {
        "deep lists": "a = " + "[" * deep + "]" * deep,
        "a long dotted key": "a" + ".a" * 100_000 + " = 1",
        "half a megabyte of tables": "".join(f"[a{k}.b.c]\nx = 1\n" for k in range(20_000)),
        "20 MB": "a = 1\n" * 3_400_000,
    }.items():
        yield Bomb(f"toml: {name}", "sheet", written("sheet.toml", content.encode()))
    for name, content in {
        "deep brackets": "a = " + "(" * 5000 + ")" * 5000,
        "a long sum": "a = " + "1+" * 200_000 + "1",
        "a power": "a = 9**9**9**9",
        "20 MB": "a = 1\n" * 3_400_000,
    }.items():
        yield Bomb(f"isaac: {name}", "isaac", written("robot.py", content.encode()))
    for name, times in clocks(rng):
        values = np.sin(np.arange(len(times))).tolist()
        rows = "".join(f"{t!r},{q!r},{q!r}\n" for t, q in zip(times, values, strict=True))
        content = f"time [s],position [rad],position_target [rad]\n{rows}"
        yield Bomb(f"a clock {name}, table", "table", written("log.csv", content.encode()))
        whole = json.dumps({"time": times, "position_rad": values, "position_target_rad": values})
        yield Bomb(f"a clock {name}, JSON", "pendulum", written("log.json", whole.encode()))
        out = io.BytesIO()
        np.savez(out, time=times, position_rad=values)
        yield Bomb(f"a clock {name}, npz", "npz", written("log.npz", out.getvalue()))


BODY = '<body><joint/><geom size="1"/></body>'


def models() -> Iterator[Bomb]:
    outside = {
        "/dev/zero": '<include file="/dev/zero"/>',
        "/etc/passwd": '<include file="/etc/passwd"/>',
        "a file above": '<include file="../other.xml"/>',
        "a linked file": '<include file="linked.xml"/>',
        "a pipe": '<include file="pipe.xml"/>',
        "itself": '<include file="model.xml"/>',
        "a mesh of zeros": '<asset><mesh name="m" file="/dev/zero" content_type="model/stl"/></asset>',
        "a mesh from a pipe": '<asset><mesh name="m" file="pipe.stl"/></asset>',
        "a sparse mesh": '<asset><mesh name="m" file="big.stl"/></asset>',
        "a huge picture": '<asset><texture type="2d" name="t" file="big.png"/></asset>',
        "a huge height field": '<asset><hfield name="h" size="1 1 1 1" nrow="99999" ncol="99999"/></asset>',
        "a huge built picture": '<asset><texture type="2d" name="t" builtin="flat" width="99999"'
        ' height="9999"/></asset>',
        "copies": '<worldbody><replicate count="100000000" offset="1 0 0"><geom size="1"/></replicate>'
        "</worldbody>",
        "copies of copies": "<worldbody>" + '<replicate count="200" offset="1 0 0">' * 4 + '<geom size="1"/>'
        + "</replicate>" * 4 + "</worldbody>",
        "memory": '<size memory="900G"/>',
        "user data": '<size nuserdata="2000000000"/>',
        "contacts": '<size njmax="2000000000" nconmax="2000000000"/>',
        "a grid": '<worldbody><flexcomp name="f" type="grid" count="2000 2000 2000" spacing=".1 .1 .1"/>'
        "</worldbody>",
        "deep bodies": "<worldbody>" + "<body>" * 20_000 + "</body>" * 20_000 + "</worldbody>",
        "a tag of 4 MB": f'<custom><text name="t" data="{"x" * 4_000_000}"/></custom>',
        "a joint of NaN": '<worldbody><body pos="nan nan nan"><joint name="k"/><geom size="1"/></body>'
        "</worldbody>",
        "attributes": "<custom><text " + " ".join(f'a{k}="1"' for k in range(60_000)) + "/></custom>",
        "bodies in one place": f"<worldbody>{BODY * 2000}</worldbody>",
        "a model in it": '<asset><model name="m" file="../other.xml"/></asset>',
    }  # fmt: skip
    beside = {
        "pipe": pipe("pipe.xml"),
        "stl": pipe("pipe.stl"),
        "big": sparse("big.stl", struct.pack("<80xI", 1 << 31), 100 * GIGA),
        "png": written("big.png", png(60_000, 60_000)),
        "linked": link("linked.xml", "/etc/passwd"),
    }
    for name, inner in outside.items():
        for kind in ("mjcf explained", "mjcf read", "robot"):
            yield Bomb(f"{kind}: {name}", kind, model(inner, **beside))


def every(rng: np.random.Generator) -> list[Bomb]:
    """All of them."""
    return [*no_files(), *unpacking(), *wide(), *questions(), *texts(rng), *models()]


def drawn(n: int, seed: int, seeds: dict[str, tuple[str, bytes]]) -> list[Bomb]:
    """So many hostile files: half bombs, half broken copies of whole files of every format."""
    from . import mutations

    rng = np.random.default_rng(seed)
    bombs = every(rng)
    broken: list[Any] = []
    for kind, (name, content) in seeds.items():
        one = [(label, bad) for label, bad in mutations.of(kind, content, rng)]
        some = rng.permutation(len(one))[: max(4, n // 40)]
        broken += [Bomb(f"{kind}: {one[k][0]}", kind, written(name, one[k][1])) for k in some.tolist()]
    chosen = [bombs[k] for k in rng.permutation(len(bombs))[: n // 2].tolist()]
    left = [broken[k] for k in rng.permutation(len(broken))[: n - len(chosen)].tolist()]
    return [*chosen, *left]
