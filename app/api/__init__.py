"""HTTP and WebSocket routes of the studio, and the checks in front of them."""
