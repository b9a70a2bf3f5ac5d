"""People as wide tables of attributes, from arrays, frames and files, read a chunk of columns at a time."""
