"""The served page: an audit in the browser of this machine, for people without a terminal."""
