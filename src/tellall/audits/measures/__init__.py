"""What is measured: risk, hits, proofs, reliability, utility, and how far luck can move them."""
