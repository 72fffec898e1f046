"""One package per page: the page script and everything that only this page draws."""
