"""Ways to break a file: cut, flipped, re-encoded, with numbers that are none, sizes that lie,
and nesting without end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

DEEP = 100_000
NUMBER = re.compile(rb"-?\d+\.?\d*(?:e-?\d+)?")
ODD = (
    b"NaN",
    b"Infinity",
    b"-1e999",
    b"1e308",
    b"9" * 5000,
    b"null",
    b'"text"',
    b"[]",
    b"{}",
    b"true",
    b"-0",
    b"",
)
LIES = (
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\x00\x00\x00\x00",
    b"\xff" * 8,
    b"\x00\x00\x00\x00\x00\x00\x00\x7f",
)
Broken = Iterator[tuple[str, bytes]]


def any_bytes(content: bytes, rng: np.random.Generator, times: int = 4) -> Broken:
    """What may happen to any file."""
    n = len(content)
    yield "empty", b""
    yield "zeros", bytes(n)
    yield "noise", rng.bytes(n)
    yield "one byte", content[:1]
    yield "twice", content + content
    yield "rubbish behind", content + rng.bytes(64)
    for k in range(times):
        cut = int(rng.integers(1, n))
        yield f"cut at {cut}", content[:cut]
        start, length = int(rng.integers(0, n)), int(rng.integers(1, max(2, n // 8)))
        yield f"{length} lost at {start}", content[:start] + content[start + length :]
        yield f"noise of {length} at {start}", content[:start] + rng.bytes(length) + content[start + length :]
        flipped = bytearray(content)
        places = rng.integers(0, n, 1 + 3 * k)
        for at in places:
            flipped[at] ^= 1 << int(rng.integers(0, 8))
        yield f"{len(places)} bits flipped, first at {int(places[0])}", bytes(flipped)


def sizes_that_lie(content: bytes, rng: np.random.Generator, times: int = 3) -> Broken:
    """Binary files: integers replaced by the largest, the smallest and nothing."""
    for lie in LIES:
        for _ in range(times):
            at = int(rng.integers(4, len(content) - 8))
            yield f"{lie.hex()} at {at}", content[:at] + lie + content[at + len(lie) :]


def texts(content: bytes, rng: np.random.Generator) -> Broken:
    """Text files: other encodings, other numbers, lines lost and doubled."""
    text = content.decode()
    yield "utf-16", text.encode("utf-16")
    yield "utf-32", text.encode("utf-32")
    yield "utf-8 with a mark", b"\xef\xbb\xbf" + content
    yield "latin-1", text.replace("a", "ä", 3).encode("latin-1")
    yield "nul", content[: len(content) // 2] + b"\0" + content[len(content) // 2 :]
    yield "lines of old Macs", content.replace(b"\n", b"\r")
    yield "one long line", content[:-1] + b"x" * 1_000_000
    numbers = list(NUMBER.finditer(content))
    for odd in ODD:
        chosen = numbers[int(rng.integers(0, len(numbers)))]
        label = odd[:12].decode() or "nothing"
        yield f"{label} at {chosen.start()}", content[: chosen.start()] + odd + content[chosen.end() :]
        if len(numbers) < 2000:
            yield f"{label} everywhere", NUMBER.sub(odd, content)
    lines = content.splitlines(keepends=True)
    if len(lines) > 2:
        k = int(rng.integers(0, len(lines)))
        yield f"line {k} lost", b"".join(lines[:k] + lines[k + 1 :])
        yield f"line {k} twice", b"".join([*lines[: k + 1], *lines[k:]])
        yield "upside down", b"".join(reversed(lines))


def jsons(content: bytes, rng: np.random.Generator) -> Broken:
    """JSON: nesting without end, keys lost, doubled, and of the wrong type."""
    plain = json.loads(content)
    yield "nested lists", b"[" * DEEP
    yield "nested lists, closed", b"[" * DEEP + b"]" * DEEP
    yield "nested objects", b'{"entries":' * DEEP + b"1" + b"}" * DEEP
    for whole in (
        b"null",
        b"[]",
        b"{}",
        b"1",
        b'"text"',
        b"[[[]]]",
        b"[{}]",
        b"[null]",
        b'{"": 1}',
        b'{"\\ud800": 1}',
        b"NaN",
    ):
        yield f"only {whole.decode()}", whole
    if not isinstance(plain, dict):
        return
    keys = list(plain)
    for key in [keys[int(k)] for k in rng.permutation(len(keys))[:8]]:
        yield f"without {key}", json.dumps({k: v for k, v in plain.items() if k != key}).encode()
        for wrong in (None, [], {}, "text", -1, 1e400, [[[1]]], True, {"part": 3}, {"part": []}, [None, "x"]):
            yield f"{key} is {wrong!r:.20}", json.dumps({**plain, key: wrong}).encode()
        again = content.rstrip()[:-1] + b", " + json.dumps(key).encode() + b": 7}"
        yield f"{key} twice", again
        deep = (
            json.dumps({**plain, key: 0})
            .encode()
            .replace(
                f"{json.dumps(key)}: 0".encode(), f"{json.dumps(key)}: ".encode() + b"[" * DEEP + b"]" * DEEP
            )
        )
        yield f"{key} nested", deep
    yield "a foreign key", json.dumps({**plain, "spaces and \u00fcmlauts": 1}).encode()


def xmls(content: bytes, rng: np.random.Generator) -> Broken:
    """XML: entity bombs, files that include themselves, nesting without end, attributes of the wrong kind."""
    root = content.split(b">", 1)[0].split()[0][1:].decode()
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "' + "a" * 1000 + '">'
    for one, other in zip("bcdefgh", "abcdefg", strict=True):
        bomb += f'<!ENTITY {one} "{f"&{other};" * 10}">'
    body = content.decode()
    yield "entity bomb", (bomb + "]>" + body.replace('name="knee"', 'name="&h;"')).encode()
    yield "entity bomb in text", (bomb + f"]><{root}>&h;</{root}>").encode()
    outside = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    yield "a file from outside", (outside + body.replace('name="knee"', 'name="&f;"')).encode()
    tag = "body" if root == "mujoco" else "link"
    yield "nested", f"<{root}><worldbody>".encode() + f"<{tag}>".encode() * 20_000
    yield (
        "nested, closed",
        f"<{root}>".encode()
        + f"<{tag}>".encode() * 20_000
        + f"</{tag}>".encode() * 20_000
        + f"</{root}>".encode(),
    )
    yield "includes itself", body.replace("<worldbody>", '<worldbody><include file="model.xml"/>').encode()
    yield (
        "includes nothing",
        body.replace("<worldbody>", '<include file="not there.xml"/><worldbody>').encode(),
    )
    yield "includes its folder", body.replace("<worldbody>", '<include file="."/><worldbody>').encode()
    yield "only a comment", b"<!-- nothing -->"
    yield "another root", f"<x>{body}</x>".encode()
    yield "no root's end", body.rsplit("<", 1)[0].encode()
    yield "an attribute twice", body.replace('name="knee"', 'name="knee" name="knee"', 1).encode()
    yield "declared as utf-16", b'<?xml version="1.0" encoding="utf-16"?>' + content
    yield "declared as nothing known", b'<?xml version="1.0" encoding="x-none"?>' + content
    yield "one tag not closed", body.replace("/>", "", 1).encode()
    yield "> in an attribute", body.replace('name="knee"', 'name="a&gt;b>c"', 1).encode()
    for value in ("nan", "inf", "1e999", "", "text", "1 2 3 4 5 6 7 8 9", "-1", "0x10"):
        for m in [m for k, m in enumerate(re.finditer(r'="(-?[\d. ]+)"', body)) if k % 2 == 0]:
            yield f"{value!r} at {m.start()}", (body[: m.start(1)] + value + body[m.end(1) :]).encode()


def yamls() -> Broken:
    """YAML: tags that run code, anchors that multiply, and every type of scalar."""
    yield "a tag that runs code", b"!!python/object/apply:os.system ['true']"
    yield "a tag of its own", b"time: !x [0, 1]\nposition_rad: !!float nope\n"
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10)
    )
    yield "an anchor bomb", bomb.encode()
    yield "an anchor bomb of signals", (bomb + "time: *a9\nposition_rad: *a9\n").encode()
    yield "an anchor to itself", b"a: &a [*a, 1]\ntime: *a\nposition_rad: *a\n"
    yield "an unknown anchor", b"time: *nothing\n"
    yield "nested", b"[" * DEEP
    yield "nested and closed", b"time: " + b"[" * DEEP + b"]" * DEEP + b"\n"
    yield "nested objects", b"{a: " * DEEP
    yield "nested by lines", b"".join(b" " * k + b"a:\n" for k in range(2_000))
    yield "two documents", b"time: [0, 1]\n---\nposition: [1, 2]\n"
    yield "dates", b"time: [2020-01-01, 2020-01-02]\nposition_rad: [1, 2]\n"
    yield "odd keys", b"? [1, 2]\n: 3\n? {a: 1}\n: 4\n1: 2\nnull: 3\n"
    yield "merge", b"a: &a {time: [0, 1]}\n<<: *a\n<<: 3\n"
    yield (
        "old numbers",
        b"time: [0, 1:30, 0o17, 0x1f, .inf, .nan, 1_000]\nposition_rad: [0, 1, 2, 3, 4, 5, 6]\n",
    )
    yield "tabs", b"time:\n\t- 1\n\t- 2\n"
    yield "an endless number", b"time: [" + b"9" * 10_000 + b"]\nposition_rad: [1]\n"


def tomls() -> Broken:
    """TOML: types that a sheet does not have, nesting, doubled keys."""
    yield "nested arrays", b"a = " + b"[" * DEEP
    yield "nested tables", b"[" + b".".join([b"a"] * 5_000) + b"]\nb = 1\n"
    yield "nested inline tables", b"a = " + b"{a = " * 3_000 + b"1" + b"}" * 3_000
    head = b'name = "x"\nmaker = "y"\nkind = "motor"\nside = "rotor"\nvoltage = "12 V"\nsource = "s"\n'
    for entry in (
        b"resistance = 2.1",
        b'resistance = "2.1 parsec"',
        b'resistance = "ohm"',
        b'resistance = ""',
        b'resistance = "nan ohm"',
        b'resistance = "inf ohm"',
        b'resistance = "1e999 ohm"',
        b'resistance = "-1 ohm"',
        b'resistance = "0 ohm"',
        b"resistance = []",
        b'resistance = ["1 ohm", "2 ohm"]',
        b"resistance = {}",
        b'resistance = {value = "1 ohm", at = 3}',
        b"resistance = 2020-01-01",
        b"resistance = true",
        b'resistance = "2**99999999 ohm"',
        b'resistance = "1 ohm**99999"',
        b'resistance = "(((((1 ohm"',
        b'resistance = "1 ohm ' + b"*m" * 5_000 + b'"',
        b'"" = "1 ohm"',
        b'"spaces and \xc3\xbcmlauts" = "1 ohm"',
        b'resistance = "1 ohm"\nresistance = "2 ohm"',
        b"resistance = \"__import__('os')\"",
        b'resistance = "1 \xce\xa9"',
    ):
        yield entry[:40].decode("utf-8", "replace"), head + b"[entries]\n" + entry + b"\n"
    for line in (
        b"voltage = 12",
        b'voltage = ""',
        b"name = 3",
        b'kind = "house"',
        b'side = "left"',
        b"entries = 3",
        b"entries = []",
        b"[entries.a.b]\nc = 1",
    ):
        key = line.split(b" ")[0]
        kept = b"\n".join(row for row in head.splitlines() if not row.startswith(key + b" "))
        yield line[:30].decode(), kept + b"\n" + line + b"\n"
    entries = b'[entries]\nresistance = "1 ohm"\n'
    for table in (
        b"firmware = 3",
        b"quirks = 3",
        b"identified = 3",
        b"[firmware]\nproportional = {}",
        b'[firmware]\ntarget_rate = "x step/s"',
        b'[firmware]\ntarget_rate = "1 step/s"\ncounts_per_turn = "0"',
        b"[identified]\na = 3",
        b"[identified.a]",
        b'[identified.a]\nsource = "s"\nfriction = []\nerror = 1\nparameters = {}',
        b'[identified.a]\nsource = "s"\nfriction = "m4"\nerror = "e"\nparameters = 3',
        b'[identified.a]\nsource = "s"\nfriction = "m4"\nerror = "e"\nparameters = {a = "x"}',
    ):
        yield table[:60].decode(), head + table + b"\n" + entries
    yield "only entries", b'[entries]\nresistance = "1 ohm"\n'


TABLES = {
    "header alone": b"time,position\n",
    "one row": b"time [s],position [rad]\n0,1\n",
    "time backwards": b"time [s],position [rad]\n1,1\n0,1\n",
    "time stands": b"time [s],position [rad]\n" + b"1,1\n" * 50,
    "a title twice": b"time [s],position [rad],position [rad]\n0,1,2\n1,2,3\n",
    "no titles": b"0,1,2\n1,2,3\n2,3,4\n",
    "units that are none": b"time [parsec],position [bananas]\n0,1\n1,2\n",
    "quotes without end": b'time [s],"position [rad]\n0,1\n1,2\n',
    "only commas": b",,,,,\n" * 20,
    "many columns": b",".join(b"c%d" % k for k in range(3000)) + b"\n" + b",".join([b"1"] * 3000) + b"\n",
    "huge numbers": b"time [s],position [rad]\n0," + b"9" * 400 + b"\n1e308,1e308\n",
    "all NaN": b"time [s],position [rad]\nnan,nan\nnan,nan\n",
    "names with everything": "Zeit [s];Läge größe [°];\u202eabc\n0;1;2\n1;2;3\n".encode(),
    "decimal commas": b"time [s];position [rad]\n0,0;1,5\n0,1;2,5\n",
    "units without end": b"time [s],position [" + b"m*" * 5000 + b"m]\n0,1\n1,2\n",
    "powers": b"time [s],position [rad**999999999]\n0,1\n1,2\n",
}


def of(kind: str, content: bytes, rng: np.random.Generator) -> Broken:
    """Everything that is done to a file of one format."""
    binary = b"\0" in content
    yield from any_bytes(content, rng, times=10 if binary else 4)
    if binary:
        yield from sizes_that_lie(content, rng)
        return
    yield from texts(content, rng)
    if kind in ("pendulum", "arrays", "sysid", "lerobot facts", "mapping", "bam", "actuator", "fit"):
        yield from jsons(content, rng)
    elif kind.startswith(("mjcf", "urdf")):
        yield from xmls(content, rng)
    elif kind == "yaml":
        yield from yamls()
    elif kind == "sheet":
        yield from tomls()
    elif kind == "table":
        yield from TABLES.items()


def nested_parts(content: dict[str, Any]) -> Broken:
    """A stored actuator whose parts are others than they should be."""
    for key, value in content.items():
        if isinstance(value, dict):
            for inner in value:
                for wrong in (None, [], {}, "text", -1, 1e400, True, {"part": "Motor"}):
                    yield (
                        f"{key}.{inner} is {wrong!r:.20}",
                        json.dumps({**content, key: {**value, inner: wrong}}).encode(),
                    )
