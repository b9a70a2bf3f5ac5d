"""Outputs as people hold them: crosstabs, fitted models and curves, and tables found in files of any kind."""
