"""Whoever can be asked: servers in two dialects, the built-in models, prices and limits."""
