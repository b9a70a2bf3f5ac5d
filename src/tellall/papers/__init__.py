"""One file for each paper: its tables and figures, ours beside theirs."""
