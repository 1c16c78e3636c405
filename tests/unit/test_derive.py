import base64
import json

from harness.derive import QWEN36_ADDED, byte_alphabet, gpt2, merges_of, qwen36
from harness.oracle import Oracle


def test_the_byte_alphabet_is_gpt2s() -> None:
    alphabet = byte_alphabet()
    assert len(set(alphabet)) == 256
    assert (alphabet[ord("a")], alphabet[ord(" ")], alphabet[ord("\n")]) == ("a", "Ġ", "Ċ")
    assert (alphabet[0xA0], alphabet[0xAD], alphabet[0xFF]) == ("ł", "Ń", "ÿ")


def ranks_of(*tokens: str) -> dict[bytes, int]:
    singles = {bytes([byte]): byte for byte in range(256)}
    return singles | {token.encode(): 256 + i for i, token in enumerate(tokens)}


def test_a_merge_joins_what_lower_ranks_leave() -> None:
    assert merges_of(ranks_of("ab", "cd", "abcd", "abc")) == [
        (b"a", b"b"),
        (b"c", b"d"),
        (b"ab", b"cd"),
        (b"ab", b"c"),
    ]


def test_a_token_ranked_below_its_part_gets_every_split() -> None:
    ranks = ranks_of("abcd", "ab", "cd", "bcd")
    assert merges_of(ranks)[:2] == [(b"a", b"bcd"), (b"ab", b"cd")]


def test_a_token_that_no_two_tokens_make_gets_none() -> None:
    assert merges_of(ranks_of("xyz")) == []


def test_gpt2s_files_become_a_tokenizer_that_loads() -> None:
    alphabet = byte_alphabet()
    vocabulary = {char: i for i, char in enumerate(alphabet)} | {"lo": 256, "Ġlo": 257}
    vocabulary["<|endoftext|>"] = 258
    bpe = "#version: 0.2\nl o\nĠ lo\n"
    data = gpt2([json.dumps(vocabulary).encode(), bpe.encode()])
    assert data == gpt2([json.dumps(vocabulary).encode(), bpe.encode()])
    oracle = Oracle.from_description(json.loads(data))
    assert oracle.encode(["lo lo<|endoftext|>"]).ids.tolist() == [256, 257, 258]
    assert oracle.decode([[256, 257]]) == ["lo lo"]


def test_qwens_ranks_become_a_tokenizer_that_loads() -> None:
    ranks = ranks_of("xyz", "lo", " lo", "\u0915\u093f")
    lines = b"".join(base64.b64encode(t) + b" %d\n" % rank for t, rank in ranks.items())
    described = json.loads(qwen36([lines]))
    # Added tokens follow the vocabulary's last id; in this small one they are put there.
    for index, token in enumerate(described["added_tokens"]):
        token["id"] = len(ranks) + index
    oracle = Oracle.from_description(described)
    # The first token is met as a whole word alone, for no two tokens make it.
    assert oracle.encode(["xyz"]).ids.tolist() == [256]
    assert oracle.encode(["xyzz"]).ids.tolist() == [*b"xyzz"]
    assert oracle.encode(["lo lo"]).ids.tolist() == [257, 258]
    assert oracle.encode(["\u0915\u093f"]).ids.tolist() == [259]
    assert oracle.encode(["<|im_end|>"]).ids.tolist() == [len(ranks) + 2]
    assert len(described["added_tokens"]) == len(QWEN36_ADDED) == 33
