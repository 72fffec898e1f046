"""What screens are drawn with, a folder for each room; here is what several rooms share."""
