"""The metrics counters of a server: how many prompt tokens it processed for everybody together.

Two readings of ``/metrics`` around some requests say what the requests cost, where nobody else sent
any between. It is the server's own account beside its usages, and the only one that some give.
"""

import re
from collections.abc import Mapping

from harness.served.live.values import Processed, Reply

PATH = "/metrics"

# The counters whose sum is the prompt tokens, those out of a cache included.
_COUNTERS: Mapping[str, tuple[str, ...]] = {
    "vllm": ("vllm:prompt_tokens_total",),
    "llama.cpp": ("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
    "sglang": ("sglang:prompt_tokens_total",),
    "tgi": ("tgi_request_input_length_sum",),
}
# What makes a server tell them, where it does not by itself.
OPTIONS: Mapping[str, str] = {"llama.cpp": "--metrics", "sglang": "--enable-metrics"}


def counted(dialect: str, before: Reply, after: Reply) -> Processed | None:
    """Return what was processed between two readings of :data:`PATH`.

    None where a reading has not every counter of the dialect, or counts less than the one before
    it: the server was started again.
    """
    names = _COUNTERS.get(dialect, ())
    start, end = (_total(names, one) for one in (before, after))
    if start is None or end is None or end < start:
        return None
    return Processed(" + ".join(names), count=end - start)


def _total(names: tuple[str, ...], reply: Reply) -> int | None:
    if reply.status != 200 or reply.failure is not None or not names:
        return None
    text = reply.body.decode("utf-8", "replace")
    values = [_value(name, text) for name in names]
    known = [one for one in values if one is not None]
    return sum(known) if len(known) == len(names) else None


def _value(name: str, text: str) -> int | None:
    """Return the sum of a counter over its label sets (engines, models), None where it is not."""
    pattern = rf"^{re.escape(name)}(?:\{{.*\}})? +(\S{{1,40}})(?: +-?\d+)?$"
    found = re.findall(pattern, text, re.MULTILINE)
    try:
        values = [float(one) for one in found]
    except ValueError:
        return None
    if not values or not all(one.is_integer() and 0 <= one < 2**53 for one in values):
        return None
    return int(sum(values))
