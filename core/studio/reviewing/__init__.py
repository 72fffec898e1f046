"""The Review room: what people look at next, what they decide, and what that proves."""
