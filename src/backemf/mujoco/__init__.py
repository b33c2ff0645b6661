"""The real MuJoCo: its versions, attributes, arrays, files and its own step."""
