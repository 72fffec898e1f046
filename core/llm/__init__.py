"""Clients for OpenAI-compatible servers and Ollama; capabilities, prices and limits."""
