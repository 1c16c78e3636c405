"""A live server asked: what it counted, what it processed, and which rule tells the two apart."""
