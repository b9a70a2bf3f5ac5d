"""The black box: what a mechanism gives away, from its draws alone."""
