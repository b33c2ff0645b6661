"""NumPy archives and arrays, written by NumPy itself: what becomes of them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from backemf.errors import BackemfError
from backemf.logs.read import read
from backemf.logs.readers import npz

T = 0.005 * np.arange(200)
Q = np.sin(T)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_by_name_are_channels(tmp_path, save):
    state = np.stack([Q, 2 * Q], axis=1)
    save(tmp_path / "run.npz", time=T, angle_deg=Q, state=state, kp=8.0, note="rig", far=np.zeros((2, 2, 2)))
    (log,) = read(tmp_path / "run.npz", map="velocity=state.1[rpm]")
    assert (log.name, log.source) == ("run", str(tmp_path / "run.npz"))
    assert np.array_equal(log.time, T)
    assert np.allclose(log["position"], np.radians(Q), rtol=1e-15, atol=0)  # one multiplication
    assert np.allclose(log["velocity"], 2 * Q * 2 * np.pi / 60, rtol=1e-15, atol=0)
    for words in ("single values, not signals: kp = 8", "not vectors of numbers, not used: note, far"):
        assert words in log.conversions


def test_a_matrix_may_lie_on_its_side(tmp_path):
    np.savez(tmp_path / "run.npz", time=T[None, :], state=np.stack([Q, -Q, 3 * Q]))
    (recording,) = npz.entries(tmp_path / "run.npz")
    assert [c.name for c in recording.channels] == ["time", "state.0", "state.1", "state.2"]
    assert np.array_equal(recording.channels[3].values, 3 * Q)
    assert all(c.n == len(T) for c in recording.channels)


def test_a_structured_array_gives_its_fields(tmp_path):
    rows = np.zeros(len(T), [("time", "<f8"), ("position_rad", ">f4"), ("enabled", "?"), ("imu", "f8", 3)])
    rows["time"], rows["position_rad"], rows["enabled"], rows["imu"][:, 1] = T, Q, True, 4.0
    np.save(tmp_path / "run.npy", rows)
    (recording,) = npz.entries(tmp_path / "run.npy")
    names = ["time", "position_rad", "enabled", "imu.0", "imu.1", "imu.2"]
    assert [c.name for c in recording.channels] == names
    (log,) = read(tmp_path / "run.npy")
    assert np.array_equal(log["position"], Q.astype(">f4"))
    np.savez(tmp_path / "both.npz", run=rows)
    (recording,) = npz.entries(tmp_path / "both.npz")
    assert [c.name for c in recording.channels] == [f"run.{name}" for name in names]


def test_a_plain_array_is_called_as_its_file(tmp_path):
    np.save(tmp_path / "run.npy", np.stack([T, Q], axis=1))
    (log,) = read(tmp_path / "run.npy", map=["time=run.0[s]", "position=run.1[rad]"])
    assert np.array_equal(log["position"], Q)


def test_dates_are_seconds(tmp_path):
    start = np.datetime64("2026-03-01T12:00:00", "ns")
    dates = start + (1e9 * T).astype("m8[ns]")
    np.savez(tmp_path / "run.npz", time=dates, position_rad=Q)
    (log,) = read(tmp_path / "run.npz")
    assert log.time == pytest.approx(T, abs=1e-6)  # a date in float64 seconds has 0.24 us
    late = np.array([1, "NaT", 3], "m8[ms]")
    np.savez(tmp_path / "late.npz", late=late)
    assert np.array_equal(
        npz.entries(tmp_path / "late.npz")[0].channels[0].values, [1e-3, np.nan, 3e-3], equal_nan=True
    )


def test_a_folder_has_archives_among_its_recordings(tmp_path):
    np.savez(tmp_path / "a.npz", time=T, position_rad=Q)
    (tmp_path / "b.csv").write_text("t [s],angle [rad]\n0,1\n1,2\n")
    assert [log.name for log in read(tmp_path)] == ["a", "b"]


class Trap:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return open, (str(self.place), "w")


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_pickled_objects_are_refused_and_never_loaded(tmp_path, suffix):
    trap = np.array([Trap(tmp_path / "sprung"), None], object)
    if suffix == ".npz":
        np.savez(tmp_path / "run.npz", time=T, calibration=trap)
    else:
        np.save(tmp_path / "run.npy", trap)
    with pytest.raises(BackemfError) as error:
        read(tmp_path / f"run{suffix}")
    what = "the array 'calibration'" if suffix == ".npz" else "the file"
    why = "holds Python objects, which are not unpickled: that could run anything"
    wanted = f"{what} {why}; save it as numbers, np.asarray(values, float)"
    assert str(error.value) == f"{tmp_path / 'run'}{suffix}: {wanted}"
    assert not (tmp_path / "sprung").exists()


def test_an_empty_archive_says_so(tmp_path):
    np.savez(tmp_path / "run.npz")
    with pytest.raises(BackemfError, match="no vectors of numbers; found: nothing"):
        read(tmp_path / "run.npz")
    np.savez(tmp_path / "words.npz", name="rig", kp=8.0, nothing=np.empty(0), odd=1j * T)
    with pytest.raises(BackemfError, match="no vectors of numbers; found: name, nothing, odd, kp = 8"):
        read(tmp_path / "words.npz")


def test_damage_is_named(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, time=T, position_rad=Q)
    whole = path.read_bytes()
    at = whole.index(T[100].tobytes())
    path.write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    with pytest.raises(BackemfError, match=r"run.npz: the array 'time' is damaged: Bad CRC-32"):
        read(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BackemfError, match=r"run.npz: the file is damaged: File is not a zip file"):
        read(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(
        BackemfError, match=r"not a NumPy file: it begins with b'nothin'; expected what np.sav"
    ):
        read(path)
    np.save(tmp_path / "run.npy", T)
    whole = (tmp_path / "run.npy").read_bytes()
    (tmp_path / "run.npy").write_bytes(whole[:-80])
    with pytest.raises(BackemfError, match=r"run.npy: the file is damaged: .*190"):  # of 200 numbers
        read(tmp_path / "run.npy")
