"""The exit codes of the served half, beside those of the error family: README, "Exit codes"."""

NO_COUNT = 6  # a server reported no count, or a file holds none
OUT_OF_BAND = 7  # a count is out of its band, or a benchmark file fails its guards
DISAGREE = 8  # counts disagree
