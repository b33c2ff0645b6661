# MuJoCo's bindings are compiled and say nothing of their types.
from typing import Any

def __getattr__(name: str) -> Any: ...
