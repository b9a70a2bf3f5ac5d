"""The posterior of counts: laws of counts and errors, expectation propagation and message passing."""
