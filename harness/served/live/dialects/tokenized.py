"""Replies of tokenizer and template endpoints: ids, their number, or both; a rendered text."""

from harness.served.live.dialects.reading import Json, Opened, count, ids, member, text
from harness.served.live.values import Answer, Processed


def tokenized(found: Opened) -> Answer:
    """Return ``tokens`` and ``count``, as vLLM, llama.cpp and SGLang give them.

    SGLang gives a list of lists for several texts; they are joined. A count that is not the number
    of the ids is a fault, and then neither is believed.
    """
    if not found.readable:
        return found.closed()
    told, number = member(found.value, "tokens"), member(found.value, "count")
    if isinstance(told, list) and told and all(isinstance(one, list) for one in told):
        told = [one for part in told for one in part]
        if isinstance(number, list) and all(type(one) is int for one in number):
            number = sum(number)
    return listed(found, told, number)


def listed(found: Opened, told: Json, number: Json = None) -> Answer:
    """Return a list of ids, or of objects with an ``id``, and the count that came with it."""
    if not found.readable:
        return found.closed()
    known = ids(told, "tokens", found.faults)
    length = count(number, "count", found.faults)
    if known is not None and length is not None and len(known) != length:
        found.faults.append(f"{len(known)} ids and a count of {length}")
        return found.closed()
    if known is None and length is None and not found.faults:
        found.faults.append("the answer has no tokens")
    return found.closed(ids=known, count=length if known is None else len(known))


def counted(found: Opened, key: str) -> Answer:
    """Return a count without ids, the member ``key`` of the body."""
    if not found.readable:
        return found.closed()
    number = count(member(found.value, key), key, found.faults)
    if number is None and not found.faults:
        found.faults.append(f"the answer has no {key}")
    return found.closed(count=number)


def rendered(found: Opened, source: str, told: Json) -> Answer:
    """Return the text that a chat template made; ``told`` is what stands in its place."""
    if not found.readable:
        return found.closed()
    known = text(told, source, found.faults)
    if known is None and not found.faults:
        found.faults.append(f"the answer has no rendered text ({source})")
    return found.closed(processed=None if known is None else Processed(source, text=known))
