"""Reading what does not fit: chunks, gates and a memory (DESIGN section 12, after GRU-Mem, arXiv 2602.10560)."""
