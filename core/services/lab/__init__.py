"""Testing changes of prompts and codebooks: trials, versions, sweeps and suggestions."""
