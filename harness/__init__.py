"""tokparity tells whether a tokenizer gives the same ids everywhere, and if not, why not.

The words used here are the glossary's in ``docs/words.md``; ``pipeline`` tells the story.
"""

__version__ = "0.1.0"
