"""Engines that run debates: live, in batches, on Ray. Every reply is paid for once."""
