"""The rooms Evaluate and Compare: runs against a truth and against each other, and what the debates were worth."""
