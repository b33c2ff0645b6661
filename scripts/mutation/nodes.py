"""What a node of a syntax tree is about: whether a change of it means anything, and where it belongs."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def _words(text: str) -> set[str]:
    return set(text.split())


EXTREMES = {"min": "max", "minimum": "maximum", "fmin": "fmax", "argmin": "argmax", "nanmin": "nanmax"}
EXTREMES |= {other: name for name, other in EXTREMES.items()}
UNORDERED = _words(
    "add allclose array_equal array_equiv chain gcd hypot intersect1d intersection isclose lcm logaddexp"
    " logical_and logical_or multiply product union union1d"
) | set(EXTREMES)
"""Functions whose arguments may change places."""
UNLIKE = _words(
    "cast get getattr hasattr import_module isinstance issubclass namedtuple next open pop print round"
    " setattr setdefault super zip"
)
"""Functions whose arguments have each a type of its own: swapped, they raise at once and prove nothing."""
_FORMATS = _words("center exit from_bytes ljust lru_cache reshape rjust rsplit split to_bytes zfill")
_SETTINGS = _words("axis axes decimals digits dpi fontsize indent maxsize ndmin precision stacklevel width")
"""Arguments that are whole numbers, and no quantities."""
_TEXTS = _words("bytes dict format join list repr set sorted str strip tuple")
_PATHS = _words("directory folder here home parent path root")
_SILENT = {"__repr__", "_repr_html_", "__str__", "__rich__"}
_LOGS = {"logger", "_logger", "logging", "warnings"}


def left_out(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name in _SILENT
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in _LOGS
        case ast.Call(func=ast.Name(id="print")):
            return True
    return False


def about_the_machine(node: ast.AST) -> bool:
    """Whether a condition asks for the system, for the type checker or for being the main program."""
    text = ast.unparse(node)
    return any(w in text for w in ("sys.platform", "sys.version", "os.name", "TYPE_CHECKING", "__name__"))


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def is_setting(node: ast.Constant, parent: ast.AST) -> bool:
    if isinstance(parent, ast.keyword):
        return parent.arg in _SETTINGS
    return isinstance(parent, ast.Call) and called(parent) in _FORMATS | UNLIKE


def of_text(node: ast.BinOp) -> bool:
    if isinstance(node.op, ast.Div) and any(_is_path(n) for n in (node.left, node.right)):
        return True
    return is_text(node)


def _is_path(node: ast.expr) -> bool:
    name = called(node) if isinstance(node, ast.Call) else getattr(node, "id", getattr(node, "attr", ""))
    return name.lower() in _PATHS


def is_text(node: ast.AST) -> bool:
    """Whether it is plainly a text, a list or another value that is not computed with."""
    match node:
        case ast.Constant():
            return isinstance(node.value, str | bytes)
        case ast.BinOp():
            return is_text(node.left) or is_text(node.right)
        case ast.Call():
            return called(node) in _TEXTS
    return isinstance(
        node,
        ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple | ast.Set | ast.SetComp | ast.Dict | ast.DictComp,
    )


def alike(a: ast.AST, b: ast.AST) -> bool:
    return ast.dump(a) == ast.dump(b)


def extent(statement: ast.stmt) -> tuple[int, int]:
    """Lines of a statement; of one with a body, of its head."""
    body: Sequence[ast.stmt] = getattr(statement, "body", None) or getattr(statement, "cases", None) or ()
    last = statement.end_lineno or statement.lineno
    if body:
        first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
        last = max(statement.lineno, first - 1)
    return statement.lineno, last


def defined(statement: ast.stmt) -> str:
    target = (getattr(statement, "targets", None) or [getattr(statement, "target", None)])[0]
    return target.id if isinstance(target, ast.Name) else getattr(statement, "name", "")
