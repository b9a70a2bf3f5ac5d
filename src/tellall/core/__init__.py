"""What every room needs: errors, safe text, files written whole or not at all, jobs, schemas."""
