"""The server: what a browser asks, checked at the border, becomes a command for the writer."""
