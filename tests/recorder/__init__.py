"""Tests of the recorder: everything against virtual servos, through the makers' own packages."""
