"""Pictures of a MuJoCo scene without a window:
an OpenGL context wherever one can be had, and the pixels it draws."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import numpy as np

from ...errors import NotAvailable
from ...mujoco.arrays import load_mujoco

OFF = ("disable", "disabled", "off", "false", "0")


def candidates() -> list[str]:
    """Modules of MuJoCo that may give a context here, in the order to try them;
    MUJOCO_GL decides where it is set."""
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in OFF:
        return []
    if asked in ("egl", "osmesa"):
        return [f"mujoco.{asked}"]
    if asked or not sys.platform.startswith("linux"):
        return ["mujoco.gl_context"]
    seen = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return [*(["mujoco.glfw"] if seen else []), "mujoco.egl", "mujoco.osmesa"]


def context(width: int, height: int) -> Any:
    """An OpenGL context made current, whatever was imported before."""
    load_mujoco()
    reasons = []
    for name in candidates():
        before, platform = set(sys.modules), os.environ.get("PYOPENGL_PLATFORM")
        made = None
        try:
            made = importlib.import_module(name).GLContext(width, height)
            made.make_current()
            return made
        except Exception as error:  # every library has its own way of not being there
            said = " ".join(str(error).split())[:120] or type(error).__name__
            reasons.append(f"{name.removeprefix('mujoco.')}: {said}")
            if made is not None:
                made.free()
        # PyOpenGL ties itself to one library when it is first imported: what failed is forgotten before the
        # next is tried.
        for module in set(sys.modules) - before:
            if module.startswith(("OpenGL", "mujoco.egl", "mujoco.osmesa")):
                del sys.modules[module]
        if platform is None:
            os.environ.pop("PYOPENGL_PLATFORM", None)
    why = "; ".join(reasons) or f"MUJOCO_GL is {os.environ.get('MUJOCO_GL')!r}"
    raise NotAvailable(
        f"nothing here can draw MuJoCo's pictures ({why}); install EGL (libegl1) or OSMesa (libosmesa6), or"
        " set MUJOCO_GL to egl, osmesa or glfw"
    )


class Offscreen:
    """A model drawn into memory. Use it in a `with` block: the context goes with it."""

    def __init__(self, model: Any, width: int, height: int):
        self.mujoco = mujoco = load_mujoco()
        self.model, self.width, self.height = model, width, height
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height  # what is drawn into
        self.gl = context(width, height)
        try:
            self.drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        except mujoco.FatalError as error:
            self.gl.free()
            raise NotAvailable(
                f"OpenGL cannot draw {width}x{height} pictures here ({error}); give a smaller --size, or set"
                " MUJOCO_GL to egl or osmesa"
            ) from None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self.drawing)
        self.scene = mujoco.MjvScene(model, maxgeom=1000)
        self.options = mujoco.MjvOption()
        self.rectangle = mujoco.MjrRect(0, 0, width, height)
        self.pixels = np.empty((height, width, 3), np.uint8)
        self.depth: np.ndarray | None = None

    def __enter__(self) -> Offscreen:
        return self

    def __exit__(self, *error: Any) -> None:
        self.drawing.free()
        self.gl.free()

    def plain_background(self) -> None:
        """White where nothing is drawn, whatever sky a model has."""
        self.scene.flags[self.mujoco.mjtRndFlag.mjRND_SKYBOX] = 0
        self.depth = np.empty((self.height, self.width), np.float32)

    def draw(self, state: Any, camera: Any) -> np.ndarray:
        """The picture of MuJoCo's state as (height, width, 3) bytes; overwritten by the next."""
        mujoco, everything = self.mujoco, self.mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self.model, state, self.options, None, camera, everything, self.scene)
        mujoco.mjr_render(self.rectangle, self.scene, self.drawing)
        mujoco.mjr_readPixels(self.pixels, self.depth, self.rectangle, self.drawing)
        if self.depth is not None:
            self.pixels[self.depth >= 1.0] = 255
        return self.pixels[::-1]
