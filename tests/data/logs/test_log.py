def test_a_command_that_was_given_once_holds_in_every_part_of_a_log():
    clock = np.linspace(0.0, 2.0, 21)
    signals = {
        "position": be.Signal(time=clock, values=0.1 * clock),
        "position_target": be.Signal(time=np.array([0.0]), values=np.array([0.3])),
        "enabled": be.Signal(time=np.array([0.0, 0.55, 1.5]), values=np.array([1.0, 0.0, 1.0])),
    }
    part = be.Log(name="held", signals=signals).between(1.0, 2.0)
    assert np.all(part["position_target"] == 0.3)
    np.testing.assert_array_equal(part["enabled"], np.where(part.time < 1.5, 0.0, 1.0))
    assert len(part["position"]) == 11
