"""What was processed by a server's metrics counters, as the servers write them."""

import pytest

from harness.served.live.counters import counted
from harness.served.live.values import Processed, Reply
from tests.unit.wire import LLAMA_TOLD, recorded


def llama(fresh: object, cached: object) -> Reply:
    text = (
        "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached "
        "tokens\n# TYPE llamacpp:prompt_tokens_total counter\n"
        f"llamacpp:prompt_tokens_total {fresh}\n"
        f"llamacpp:prompt_tokens_cached_total {cached}\nllamacpp:prompt_seconds_total 0.038758\n"
    )
    return Reply(200, text.encode())


def vllm(*values: float) -> Reply:
    lines = [
        f'vllm:prompt_tokens_total{{engine="{number}",model_name="a }} b"}} {value}'
        for number, value in enumerate(values)
    ]
    noise = ["vllm:prompt_tokens_total_created 1.796e+09", "vllm:generation_tokens_total 9.0"]
    return Reply(200, "\n".join(lines + noise).encode())


def test_fresh_and_cached_tokens_are_both_prompt_tokens() -> None:
    # As a real server counted: five tokens, then the same five and one more.
    found = counted("llama.cpp", llama(5, 0), llama(6, 5))
    source = "llamacpp:prompt_tokens_total + llamacpp:prompt_tokens_cached_total"
    assert found == Processed(source, count=6)


def test_engines_are_added_up() -> None:
    found = counted("vllm", vllm(10.0, 1e3), vllm(16.0, 1.014e3))
    assert found == Processed("vllm:prompt_tokens_total", count=20)


@pytest.mark.parametrize(
    ("dialect", "before", "after"),
    [
        ("llama.cpp", llama(5, 0), recorded(LLAMA_TOLD)["metrics"]),  # not switched on
        ("llama.cpp", llama(5, 0), Reply(None, failure="connection refused")),
        ("llama.cpp", llama(5, 0), Reply(200, b"llamacpp:prompt_tokens_total 6\n")),  # half
        ("llama.cpp", llama(9, 0), llama(5, 0)),  # started again
        ("llama.cpp", llama("NaN", 0), llama(5, 0)),
        ("llama.cpp", llama(0, 0), llama("1e400", 0)),
        ("llama.cpp", llama(0, 0), llama("x", 0)),
        ("vllm", vllm(1.5), vllm(3.0)),
        ("vllm", vllm(), vllm()),
        ("openai", llama(5, 0), llama(6, 0)),
        ("ollama", llama(5, 0), llama(6, 0)),
    ],
)
def test_what_is_not_told_is_not_counted(dialect: str, before: Reply, after: Reply) -> None:
    assert counted(dialect, before, after) is None
