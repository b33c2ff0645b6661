"""Servos with control tables: Feetech and Dynamixel, over the packets of their makers' own packages."""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..registers import MAPS, Map, RegisterModel, of_model
from .bus import Bus, BusError, BusServo, PortGone, Reply, ReplyColumn, package, port_loss, port_refusal

TRIES = 6
"""How often a question is asked before its answer counts as lost; samples are asked once."""
SCANNED = range(0, 33)
QUICK = 12.0
"""How long a scan waits for each id [ms]."""
QUIET = 0.025
"""After an answer that did not come, nothing is asked before the line has been quiet for so long [s]."""
LISTEN = 0.15
"""How long somebody else is listened for [s]."""


class RegisterBus(Bus):
    """One port; the control table of each servo follows from its model number."""

    protocol: str
    """The maker's packets: that of the control tables of its servos."""
    version: float
    """Of the packets, as the maker's package counts them."""
    layout: tuple[int, int, int]
    """Where a status packet has its id and its error, and how many bytes end it."""

    def __init__(self, port: str, baud: int | None = None):
        self.port_name, self.baud = port, baud or 1_000_000
        self._maps: dict[int, Map] = {}
        self._before: dict[int, dict[str, int]] = {}
        self._late = False
        """Whether an answer is still on its way, perhaps."""
        self._port: Any = None
        self._packets: Any = None
        self._sdk: Any = None

    @abstractmethod
    def _load(self) -> Any:
        """The maker's package."""

    def open(self) -> None:
        self._sdk = self._load()
        self._packets = self._sdk.PacketHandler(self.version)
        self._port = self._sdk.PortHandler(self.port_name)
        self._port.baudrate = self.baud
        try:
            opened = self._port.openPort()
        except Exception as error:  # pyserial's, several kinds
            raise port_refusal(self.port_name, error) from None
        if not opened:
            raise BusError(f"the baud rate {self.baud} is none of this bus; expected one such as 1000000")
        try:
            self._port.ser.exclusive = True
            self._port.ser.timeout = 0.002  # waits for bytes instead of asking again and again
        except Exception as error:
            self.close()
            raise port_refusal(self.port_name, error) from None

    def close(self) -> None:
        if self._port is not None and self._port.ser is not None:
            with contextlib.suppress(OSError):
                self._port.closePort()
        self._port = None

    def _clear(self) -> None:
        """Forget what came late, and what an interrupted exchange left open."""
        with port_loss(self.port_name):
            if self._late:  # an answer that did not come may still come, and would pass for the next one
                self._late, until = False, time.monotonic() + QUIET
                while time.monotonic() < until:
                    time.sleep(QUIET / 5)
                    if self._port.ser.in_waiting:
                        self._port.ser.reset_input_buffer()
                        until = time.monotonic() + QUIET
            self._port.ser.reset_input_buffer()
        self._port.is_using = False

    def talk(self) -> int:
        self._clear()
        time.sleep(LISTEN)
        with port_loss(self.port_name):
            return int(self._port.ser.in_waiting)

    def _read(self, id: int, address: int, n: int, tries: int = TRIES) -> bytes | None:
        for _ in range(tries):
            self._clear()
            with port_loss(self.port_name):
                content, result, _ = self._packets.readTxRx(self._port, id, address, n)
            if result == 0 and len(content) >= n:
                return bytes(content[:n])
            self._late = True
        return None

    def get(self, id: int, name: str) -> int | None:
        """The count in a register of a servo; None where it does not answer."""
        table = self._table(id)
        content = self._read(id, table[name].address, table[name].size)
        return None if content is None else table[name].decode(content, big=table.big)

    def read_twice(self, id: int, name: str) -> int | None:
        """The same, asked until two answers in a row agree: a late one belongs to another question."""
        before = None
        for _ in range(2 * TRIES):
            now = self.get(id, name)
            if now is None or now == before:
                return now
            before = now
        return None

    def put(self, id: int, name: str, value: int) -> bool:
        """Write a register, and read back whether it is there.

        Args:
            id: of the servo.
            name: of the register.
            value: the count.

        Returns:
            Whether the servo has it now.
        """
        table = self._table(id)
        register, content = table[name], table[name].encode(value, big=table.big)
        for _ in range(TRIES):
            self._clear()
            with port_loss(self.port_name):
                self._packets.writeTxRx(self._port, id, register.address, register.size, list(content))
            if self._read(id, register.address, register.size, tries=1) == content:
                return True
        return False

    def _number(self, id: int) -> int | None:
        """Model number of the servo that answers at an id."""
        for table in self._tables():
            content = self._read(id, table["model_number"].address, 2, tries=2)
            if content is None:
                return None
            number = int.from_bytes(content, "big" if table.big else "little")
            if number in table.models:
                return number
        first = self._tables()[0]
        content = self._read(id, first["model_number"].address, 2)
        return None if content is None else int.from_bytes(content, "little")

    def _tables(self) -> list[Map]:
        return [one for one in MAPS.values() if one.protocol == self.protocol]

    def scan(self, ids: Iterable[int] = SCANNED) -> list[int]:
        before, there = self._port.setPacketTimeout, []
        self._port.setPacketTimeout = lambda n: self._port.setPacketTimeoutMillis(QUICK)
        try:
            for id in ids:
                self._clear()
                with port_loss(self.port_name):
                    _, result, _ = self._packets.readTxRx(self._port, id, 0, 1)
                there += [id] if result == 0 else []
        finally:
            self._port.setPacketTimeout = before
        return there

    def elsewhere(self, ids: Sequence[int]) -> str:
        rates = self._tables()[0].bauds
        baud, here = self.baud, self.scan()
        for rate in rates:
            if here or rate == self.baud:
                continue
            with port_loss(self.port_name):
                try:
                    self._port.ser.baudrate = rate
                except ValueError:  # this port has no such rate
                    continue
            baud, here = rate, self.scan()
        with port_loss(self.port_name):
            self._port.ser.baudrate = self.baud
        if not here:
            return (
                f"nobody answers, from id {SCANNED[0]} to {SCANNED[-1]} at {', '.join(map(str, rates))} baud;"
                " is the supply on, and the data wire in its place?"
            )
        remedy = "" if baud == self.baud else f"; give --baud {baud}"
        return f"at {baud} baud these ids answer: {', '.join(map(str, here))}{remedy}"

    def survey(self, ids: Sequence[int]) -> dict[int, BusServo]:
        there = {}
        for id in ids:
            number = self._number(id)
            if number is not None:
                there[id] = self._survey_servo(id, number)
        return there

    def _survey_servo(self, id: int, number: int) -> BusServo:
        table = self._maps[id] = of_model(self.protocol, number)
        model = table.model(number)
        names = dict.fromkeys((*table.firmware, *table.gains.values(), *table.kept))
        counts = {name: self.read_twice(id, name) for name in names}
        missing = [name for name, value in counts.items() if value is None]
        if missing:
            raise BusError(
                f"servo {id} answers, but not when asked for {missing[0]}; is there a second master, or a bad"
                " cable?"
            )
        there = {name: int(value) for name, value in counts.items() if value is not None}
        position = table.scales["position"]
        low, high = there.get("position_low", 0), there.get("position_high", 0)
        supply = (there["supply_low"], there["supply_high"]) if "supply_low" in there else None
        return BusServo(
            id=id,
            model=model.name,
            number=number,
            firmware=".".join(str(there[name]) for name in table.firmware),
            columns=_columns_of(table, model),
            settings={path: float(there[name]) for path, name in table.gains.items()},
            registers=there,
            low=position.si(low) if high > low else None,
            high=position.si(high) if high > low else None,
            resolution=position.factor,
            supply=None if supply is None else (0.1 * supply[0], 0.1 * supply[1]),
            temperature_limit=float(there["temperature_limit"]),
            problems=tuple(_problems(id, table, there)),
        )

    def prepare(self, ids: Sequence[int], silence: float) -> None:
        for id in ids:
            table, saved = self._maps[id], self._before.setdefault(id, {})
            wanted = dict(table.recording)
            if table.watchdog is not None:
                name, unit = table.watchdog
                wanted[name] = min(127, max(1, round(silence / unit)))
                saved[name] = 0
                self.put(id, name, 0)  # one that has fired refuses goals
            for name, value in wanted.items():
                there = self.get(id, name)
                if there == value:
                    continue
                if there is not None:
                    saved.setdefault(name, there)
                if not self.put(id, name, value):
                    raise BusError(f"servo {id} does not take {name} = {value}; is there a second master?")

    def restore(self) -> None:
        for id, saved in self._before.items():
            for name, value in saved.items():
                self.put(id, name, value)
        self._before = {}

    def sample(self, ids: Sequence[int]) -> list[Reply]:
        together: dict[tuple[int, int], list[int]] = {}
        alone = []
        for id in ids:
            table = self._maps[id]
            (together.setdefault(table.block, []) if table.sync_read else alone).append(id)
        replies = []
        for (address, n), asked in together.items():
            replies += self._sync_read(asked, address, n) if len(asked) > 1 else self._one(asked[0])
        for id in alone:
            replies += self._one(id)
        return replies

    def _one(self, id: int) -> list[Reply]:
        address, n = self._maps[id].block
        self._clear()
        with port_loss(self.port_name):
            content, result, error = self._packets.readTxRx(self._port, id, address, n)
        now = time.monotonic()
        if result != 0 or len(content) < n:
            self._late = True
            return []
        return [self._reply(id, now, bytes(content[:n]), error)]

    def _sync_read(self, ids: Sequence[int], address: int, n: int) -> list[Reply]:
        """One question, and a stamp for each answer as it comes."""
        self._clear()
        group = self._sdk.GroupSyncRead(self._port, self._packets, address, n)
        for id in ids:
            group.addParam(id)
        replies: dict[int, Reply] = {}
        with port_loss(self.port_name):
            if group.txPacket() != 0:
                return []
            for _ in ids:
                id, error, content, result = self._receive()
                if result != 0:
                    if result != self._sdk.COMM_RX_CORRUPT:
                        break  # nothing comes any more
                    continue
                if id in ids and len(content) >= n:
                    replies[id] = self._reply(id, time.monotonic(), content[:n], error)
        self._port.is_using = False
        self._late = len(replies) < len(ids)
        return list(replies.values())

    def _receive(self) -> tuple[int, int, bytes, int]:
        """The next status packet: (id, error, content, result)."""
        receive = self._packets.rxPacket
        fast = (False,) if receive.__code__.co_argcount == 3 else ()  # Dynamixel's from 4.0 on ask for it
        packet, result = receive(self._port, *fast)
        self._port.is_using = True  # more answers to the same question follow
        if result != 0:
            return 0, 0, b"", result
        id, error, tail = self.layout
        return packet[id], packet[error], bytes(packet[error + 1 : -tail]), result

    def _reply(self, id: int, now: float, content: bytes, error: int) -> Reply:
        table = self._maps[id]
        counts = table.in_block(content)
        bits = error | counts.get("status", 0)
        alarm = ", ".join(words for bit, words in table.status_bits.items() if bits >> bit & 1)
        return Reply(id, now, tuple(float(v) for v in counts.values()), alarm)

    def ask(self, goals: Mapping[int, float]) -> float:
        counts = {id: self._maps[id].scales["position"].count(goal) for id, goal in goals.items()}
        if not self._sync_write("goal", counts):
            raise PortGone(f"goals cannot be sent on {self.port_name}")
        return time.monotonic()

    def _sync_write(self, name: str, counts: Mapping[int, int]) -> bool:
        """One register of many servos at once, without waiting for an answer; whether it could be sent."""
        groups: dict[tuple[int, int], Any] = {}
        for id, count in counts.items():
            table = self._table(id)
            address, size, _ = table[name]
            if (address, size) not in groups:
                groups[address, size] = self._sdk.GroupSyncWrite(self._port, self._packets, address, size)
            groups[address, size].addParam(id, list(table[name].encode(count, big=table.big)))
        self._clear()
        with port_loss(self.port_name):
            return all([group.txPacket() == 0 for group in groups.values()])  # each is sent, whatever fails

    def reached_goal(self, id: int, goal: float) -> float:
        """The goal that a servo gets: a whole count."""
        scale = self._maps[id].scales["position"]
        return scale.si(scale.count(goal))

    def torque(self, ids: Iterable[int], on: bool) -> list[int]:
        ids = list(ids)
        for _ in range(TRIES):
            self._sync_write("torque_enable", dict.fromkeys(ids, int(on)))
            self.switched = time.monotonic()
            ids = [id for id in ids if self.is_on(id) != on]
            if not ids:
                break
        return ids

    def _table(self, id: int) -> Map:
        return self._maps.get(id) or self._tables()[0]

    def is_on(self, id: int) -> bool | None:
        there = self.get(id, "torque_enable")
        there = there or self.read_twice(id, "torque_enable")  # nobody is alarmed by a late answer
        return None if there is None else bool(there)


def _columns_of(table: Map, model: RegisterModel) -> tuple[ReplyColumn, ...]:
    """What the numbers of a block are."""
    columns = []
    for signal in table.signals:
        scale = table.scale(signal, model)
        if scale is None:
            columns.append(ReplyColumn("load", "1", 1e-3))
        else:
            columns.append(ReplyColumn(signal, scale.unit, scale.factor, scale.zero))
    return tuple(columns)


def _problems(id: int, table: Map, there: Mapping[str, int]) -> list[str]:
    said = []
    if table.mode is not None:
        name, wanted, words = table.mode
        mode = there[name]
        if mode != wanted and "position" not in words.get(mode, ""):
            said.append(
                f"servo {id} is in the {words.get(mode, f'{mode}')} mode; expected the position mode:"
                f" with its torque off, write {wanted} to register {table[name].address}"
            )
    elif there.get("position_high") == there.get("position_low"):
        said.append(
            f"servo {id} is in the wheel mode, both of its position limits being"
            f" {there.get('position_low')}; expected limits such as 0 and {table.counts_per_turn - 1}"
        )
    return said


class Feetech(RegisterBus):
    """Half duplex, 1 Mbaud unless told."""

    name = "feetech"
    protocol = "feetech"
    version = 0  # low byte first; high-byte-first servos are encoded by their table
    layout = (2, 4, 1)

    def _load(self) -> Any:
        with package("feetech-servo-sdk", "feetech"):
            import scservo_sdk
        return scservo_sdk


class Dynamixel(RegisterBus):
    """X series and MX with protocol 2."""

    name = "dynamixel"
    protocol = "dynamixel2"
    has_watchdog = True
    version = 2.0
    layout = (4, 8, 2)

    def _load(self) -> Any:
        with package("dynamixel-sdk", "dynamixel"):
            import dynamixel_sdk
        return dynamixel_sdk


class DynamixelOne(Dynamixel):
    """MX with protocol 1: no sync read, each servo is asked by itself."""

    name = "dynamixel1"
    protocol = "dynamixel1"
    has_watchdog = False
    version = 1.0
