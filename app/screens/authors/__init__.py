"""The Authors page: authors label their own texts, and annotators are compared with them."""
