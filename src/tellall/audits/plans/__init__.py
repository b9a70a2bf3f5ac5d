"""What is planned: a plan and its mistakes, drafts, policies, attackers, places, time and memory."""
