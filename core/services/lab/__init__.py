"""The Lab: try a change of a prompt or a definition and measure its effect."""
