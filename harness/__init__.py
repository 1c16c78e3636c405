"""tokparity: does a tokenizer give the same ids everywhere, and if not, exactly why not?

The words used here are the glossary's in ``docs/words.md``; ``pipeline`` tells the story.
"""

from importlib import metadata

try:
    __version__ = metadata.version("tokparity")
except metadata.PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
