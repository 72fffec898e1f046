"""Review: the queue, decisions of people, and accuracy estimates from them."""
