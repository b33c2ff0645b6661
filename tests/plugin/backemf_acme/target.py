"""Acme's controller reads the whole actuator: one line for each number."""

from backemf.physics.actuator import Actuator
from backemf.targets.export import Export, Request, complete, hash_comment, header, number
from backemf.targets.spec import whole_rows
from backemf.targets.table import Target

TARGET = Target(__name__, ("any",), "any", "a table for Acme's controller")
why_not_run = "the controller is a device"
rows = whole_rows(("every number", "a line NAME = VALUE", "in SI"))


def write(actuator: Actuator, request: Request) -> Export:
    """Every number by its path."""
    values = actuator.parameters
    lines = "".join(f"{path} = {number(value)}\n" for path, value in values.items())
    text = hash_comment(header(request, "SI")) + lines
    files = {f"{request.joint}.table": text}
    return complete(request, actuator, files=files, carried=actuator, numbers=values)
