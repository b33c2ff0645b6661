"""What happened over time, for Rerun, Foxglove and ROS 2."""
