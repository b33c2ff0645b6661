"""Bags of ROS 2: joints' states and what was asked of them, from MCAP and from SQLite files."""
