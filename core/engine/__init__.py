"""Engines that run debates: live, in worker processes, in batches, on Ray. Every reply is paid for once."""
