"""HTTP and WebSocket routes of the studio, and their access control."""
