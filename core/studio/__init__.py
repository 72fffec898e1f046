"""What the rooms of the studio do, without a screen. A room has its own folder; here is what they share."""
