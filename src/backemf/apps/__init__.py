"""What people run: command line, reports, films, the playground, the web app, the demo."""
