"""Access tokens from the Keyturn broker: see keyturn.py beside this file, which is all of it."""

from .keyturn import *  # noqa: F403
from .keyturn import __all__ as __all__
