"""Outputs as people hold them: tables and models found in files of any kind, and what they mean."""
