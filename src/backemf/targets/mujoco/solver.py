"""What dry friction that holds needs of MuJoCo's solver."""

from __future__ import annotations

from collections.abc import Sequence

from ...mujoco.xml import Edit, Element, with_attributes

LINE_SEARCH = 50
"""Iterations of the line search, MuJoCo's own default. Friction as sharp as `STICKING` needs them: an arm of
five servos that follows its commands to 4.6 mrad with 50 is off by 8.3 with 20, at no gain in time."""


def searching(elements: Sequence[Element], fresh: Sequence[bytes]) -> tuple[list[Edit], list[str]]:
    """Edits of a model's options that let the friction in the new text hold, and what they change."""
    if not any(b"solimpfriction" in text for text in fresh):
        return [], []
    edits, changes = [], []
    for one in elements:
        given = one.attributes.get("ls_iterations", "") if one.tag == "option" else ""
        if given.strip().isdigit() and int(given) < LINE_SEARCH:
            raw = one.file.read_bytes()[one.start : one.opened]
            text = with_attributes(raw, {"ls_iterations": str(LINE_SEARCH)})
            edits.append(Edit(one, one.start, one.opened, text))
            why = "with fewer the solver stops before the joints' friction holds"
            changes.append(f"option: ls_iterations {given} became {LINE_SEARCH}: {why}")
    return edits, changes
