"""Served parity: counts that a server reported, held against counts that we make."""
