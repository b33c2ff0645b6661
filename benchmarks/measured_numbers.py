"""docs/numbers.json: every number that was measured and that pages state, with its command and its day."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "docs" / "numbers.json"


def record(command: str, values: Mapping[str, str], file: Path = FILE) -> None:
    """Put measured numbers in place of those of the same names.

    Args:
        command: that measured them, as one types it.
        values: as pages print them, by name, such as so101.held_out.
        file: where the others are.
    """
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    day = datetime.now(UTC).date().isoformat()
    known |= {name: {"value": value, "command": command, "measured": day} for name, value in values.items()}
    ordered = {name: known[name] for name in sorted(known)}
    file.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
