"""Tracing: was this person in the data whose means were published?"""
