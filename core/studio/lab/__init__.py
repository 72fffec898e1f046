"""The Lab room: change a word of a prompt or a definition, see what it does."""
