"""How one step becomes trajectories, derivatives and a live stepper: arrays in, arrays out."""
