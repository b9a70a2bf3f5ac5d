"""What pages are made of: blocks, figures and their markup."""
