"""tellall tells people who publish statistics what those statistics give away about the people in them.

>>> import tellall as ta
>>> people = ta.datasets.load("breast_cancer")
>>> release = ta.publish(people, ta.Marginals(4), protect=ta.Rounding(5))
>>> attack = ta.reconstruct(release, people.public)
>>> bool((attack.guess == people.secret).mean() > 0.9)
True
"""

import lazy_loader

from tellall.core.version import __version__ as __version__

# The public names stand in __init__.pyi and are imported when they are first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
