"""The documents whose fields are not yet declared by records."""
