"""The 32-bit functions that take most instructions of a step, written for a GPU: each within a few units in
the last place of its kind of number, without the cases that the physics never meets (denormals, angles beyond
10^4 rad). Elsewhere than on a GPU they are the C library's."""

from __future__ import annotations

from ..lean import DECAY, FLIP, POWER

_NATIVE = '''

@wp.func_native("""{body}""")
def {name}({arguments}) -> wp.float32: ...
'''
_ON_GPU = "\n#if defined(__CUDA_ARCH__)\n{gpu}\n#else\n{cpu}\n#endif\n"
_REDUCED = """float t = fmaf(x, 0.318309886f, 12582912.0f), n = t - 12582912.0f;
float r = fmaf(n, 8.74227766e-8f, fmaf(n, -3.14159274f, x)), z = r * r;
unsigned int odd = __float_as_uint(t) << 31;
"""
"""x less a whole number of half turns, and whether that was odd; good to a last place below 10^4 rad."""
_SIN = """float y = fmaf(fmaf(2.59990212e-6f, z, -1.98065465e-4f), z, 8.33301635e-3f);
y = fmaf(y, z, -1.66666571e-1f);
return __uint_as_float(__float_as_uint(fmaf(r * z, y, r)) ^ odd);"""
_COS = """float y = fmaf(fmaf(-2.60756549e-7f, z, 2.47618077e-5f), z, -1.38884021e-3f);
y = fmaf(fmaf(fmaf(y, z, 4.16666406e-2f), z, -4.99999995e-1f), z, 1.0f);
return __uint_as_float(__float_as_uint(y) ^ odd);"""
"""Minimax polynomials over half a turn: within 5e-9 and 3e-10, below the rounding of 32 bits."""
_RECIPROCAL = 'float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));'
_POWER = """float l, p; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(l) : "f"(x));
asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(p) : "f"(y * l)); return p;"""
_DECAY = 'float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * -1.44269504f)); return y;'
_FLIP = "return __uint_as_float(__float_as_uint(x) ^ (__float_as_uint(y) & 0x80000000u));"
_LIMIT = 'float z; asm("{0}.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y)); return z;'

_OWN = {
    "flip": (2, _FLIP, _FLIP, "return y < 0.0f ? -x : x;"),
    "power": (2, _POWER, _POWER, "return powf(x, y);"),
    "decay": (1, _DECAY, _DECAY, "return expf(-x);"),
    "quotient": (
        2,
        f"{_RECIPROCAL} float q = x * r; return fmaf(fmaf(-q, y, x), r, q);",
        f"{_RECIPROCAL} return x * r;",
        "return x / y;",
    ),
    "sine": (1, _REDUCED + _SIN, "return __sinf(x);", "return sinf(x);"),
    "cosine": (1, _REDUCED + _COS, "return __cosf(x);", "return cosf(x);"),
    "larger": (2, _LIMIT.format("max"), _LIMIT.format("max"), "return x >= y || x != x ? x : y;"),
    "smaller": (2, _LIMIT.format("min"), _LIMIT.format("min"), "return x <= y || x != x ? x : y;"),
}
"""Name -> (number of operands, on a GPU, on one with fast math, elsewhere)."""
SHORT = {
    FLIP: "flip({0}, {1})",
    POWER: "power({0}, {1})",
    DECAY: "decay({0})",
    "div": "quotient({0}, {1})",
    "sin": "sine({0})",
    "cos": "cosine({0})",
    "max": "larger({0}, {1})",
    "min": "smaller({0}, {1})",
}

PLAIN = {
    FLIP: "wp.where({1} >= wp.float64(0.0), {0}, -{0})",
    POWER: "wp.pow({0}, {1})",
    DECAY: "wp.exp(-{0})",
}
"""The operations beyond the table in 64 bits."""


def own_functions(fast: bool) -> str:
    """The 32-bit functions of this file, as Warp reads them."""
    written = []
    for name, (n, exact, quick, cpu) in _OWN.items():
        body = _ON_GPU.format(gpu=quick if fast else exact, cpu=cpu)
        arguments = ", ".join(f"{x}: wp.float32" for x in "xy"[:n])
        written.append(_NATIVE.format(name=name, body=body.replace("\\", "\\\\"), arguments=arguments))
    return "".join(written)
