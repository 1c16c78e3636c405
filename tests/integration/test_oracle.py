"""The oracle against the library itself: stages changed in place, Unicode facts, hostile files."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, normalizers

from harness.corpus import bundled_names, load
from harness.errors import TokenizerError
from harness.oracle import KEEP, Oracle, library_version, unicode_facts
from harness.oracle.forms import FORMS, Form
from harness.oracle.own import Viterbi, merge_ranks, merged
from harness.outcomes import Status
from harness.traits import nfc

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "goldens" / "bundled" / "tokenizer.json"
ACUTE = "e\u0301"


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle.load(BUNDLED)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    corpora = [load(ROOT / "corpora" / f"{one}.jsonl") for one in bundled_names(ROOT / "corpora")]
    found = [case.text for corpus in corpora for case in corpus.cases]
    return [text for text in found if text is not None]


def described(**changes: object) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(BUNDLED.read_text("utf-8"))
    return whole | changes


def test_it_is_the_pinned_library() -> None:
    assert library_version() == "0.22.2"


def test_ids_are_the_librarys_own_one_by_one(oracle: Oracle, texts: list[str]) -> None:
    # `encode` goes in batches and without offsets; the plain call is the reference.
    plain = Tokenizer.from_file(str(BUNDLED))
    for special in (False, True):
        found = oracle.encode(texts, special=special)
        assert (found.status == Status.OK).all()
        for index, text in enumerate(texts):
            ids = plain.encode(text, add_special_tokens=special).ids
            assert found.answer(index).tolist() == ids, text


def test_what_is_not_utf8_is_ungraded_in_its_place(oracle: Oracle) -> None:
    found = oracle.encode([None, "hello", None, ""])
    assert found.status.tolist() == [6, 0, 6, 0]
    assert found.lengths.tolist() == [0, 2, 0, 0]
    assert found.notes == {}


def test_a_text_that_the_library_refuses_is_ungraded_with_its_words(oracle: Oracle) -> None:
    word_level = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}
    refusing = Oracle.from_description(
        described(model=word_level, added_tokens=[], post_processor=None, pre_tokenizer=None)
    )
    found = refusing.encode(["a", "b", "a"])
    assert found.status.tolist() == [0, 6, 0]
    assert "the oracle refuses it" in found.notes[1]
    surrogate = oracle.encode(["hello", "\ud800", "hello"])
    assert surrogate.status.tolist() == [0, 6, 0]


def test_large_input_is_batched_without_a_seam(oracle: Oracle) -> None:
    texts = [f"text {index} " * 40 for index in range(5000)]
    whole = oracle.encode(texts)
    assert len(whole) == 5000
    for index in (0, 1, 2047, 2048, 2600, 4999):
        assert whole.answer(index).tolist() == oracle.encode([texts[index]]).ids.tolist()


def test_truncation_and_padding_in_the_file_are_off() -> None:
    truncation = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    padding = {
        **{"strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": None},
        **{"pad_id": 0, "pad_type_id": 0, "pad_token": "!"},
    }
    limited = described(truncation=truncation, padding=padding)
    assert len(Tokenizer.from_str(json.dumps(limited)).encode("hello").ids) == 128
    assert Oracle.from_description(limited).encode(["hello world"]).lengths.tolist() == [4]


def test_stages_show_their_output(oracle: Oracle) -> None:
    assert oracle.normalize(ACUTE) == "é"
    assert oracle.pretokenize(f"Hell{ACUTE} world  12") == ["Hellé", " world", " ", " ", "1", "2"]
    assert oracle.pretokenize("") == []
    bare = oracle.under(normalizer=None, pre_tokenizer=None)
    assert bare.normalize(ACUTE) == ACUTE
    assert bare.pretokenize("a b") == ["a b"]
    assert bare.pretokenize("") == []
    assert oracle.decode([oracle.encode(["é ü"]).ids.tolist()]) == ["é ü"]
    assert oracle.decode([[2561]], skip_special_tokens=True) == [""]
    assert oracle.token(2561) == "<|im_start|>"
    assert oracle.tokens([2561, 10**6]) == ["<|im_start|>", None]
    assert oracle.normalizes
    assert not Oracle.from_description(described(normalizer=None)).normalizes
    empty = {"type": "Sequence", "normalizers": []}
    assert not Oracle.from_description(described(normalizer=empty)).normalizes


BYTE_LEVEL: dict[str, Any] = {
    **{"type": "ByteLevel", "add_prefix_space": False},
    **{"trim_offsets": True, "use_regex": True},
}
CHANGES: dict[str, tuple[Callable[[Oracle], Oracle], Callable[[dict[str, Any]], None]]] = {
    "no-normalizer": (
        lambda o: o.under(normalizer=None),
        lambda d: d.update(normalizer=None),
    ),
    "nfd": (
        lambda o: o.under(normalizer={"type": "NFD"}),
        lambda d: d.update(normalizer={"type": "NFD"}),
    ),
    "nfkc": (
        lambda o: o.under(normalizer={"type": "NFKC"}),
        lambda d: d.update(normalizer={"type": "NFKC"}),
    ),
    "byte-level-alone": (
        lambda o: o.under(pre_tokenizer=BYTE_LEVEL),
        lambda d: d.update(pre_tokenizer=BYTE_LEVEL),
    ),
    "ignore-merges": (
        lambda o: o.under(ignore_merges=True),
        lambda d: d["model"].update(ignore_merges=True),
    ),
    "nested": (
        lambda o: o.under(normalizer=None).under(pre_tokenizer=BYTE_LEVEL, normalizer=KEEP),
        lambda d: d.update(normalizer=None, pre_tokenizer=BYTE_LEVEL),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_stage_is_a_changed_file(name: str, oracle: Oracle, texts: list[str]) -> None:
    change, edit = CHANGES[name]
    before = oracle.encode(texts)
    changed = change(oracle).encode(texts)
    description = described()
    edit(description)
    loaded = Oracle.from_description(description).encode(texts)
    assert changed.ids.tolist() == loaded.ids.tolist()
    assert changed.offsets.tolist() == loaded.offsets.tolist()
    if name != "ignore-merges":
        assert changed.ids.tolist() != before.ids.tolist()
    after = oracle.encode(texts)
    assert after.ids.tolist() == before.ids.tolist()


def test_merging_by_other_rules_is_not_answered_from_memory() -> None:
    # One word, encoded under both settings in turn: the library keeps merged words in a cache.
    model = {
        **{"type": "BPE", "dropout": None, "unk_token": "?", "continuing_subword_prefix": None},
        **{"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False},
        **{"vocab": {"?": 0, "a": 1}, "merges": []},
    }
    small = Oracle.from_description(
        described(model=model, added_tokens=[], post_processor=None, pre_tokenizer=None)
    )
    for _ in range(2):
        assert small.encode(["xxa"]).ids.tolist() == [0, 0, 1]
        assert small.under(fuse_unk=True).encode(["xxa"]).ids.tolist() == [0, 1]


def test_the_planted_defect_that_setting_alone_leaves_behind() -> None:
    # What `under` must do beyond setting: the library keeps the old patterns of added tokens.
    plain = Tokenizer.from_file(str(BUNDLED))
    plain.normalizer = None
    loaded = Tokenizer.from_str(json.dumps(described(normalizer=None)))
    raw = "<|\u212b|>"
    set_only = plain.encode(raw, add_special_tokens=False).ids
    assert set_only != loaded.encode(raw, add_special_tokens=False).ids


def test_special_tokens_can_be_taken_for_text(oracle: Oracle) -> None:
    split = oracle.under(split_special=True)
    assert len(split.encode(["<|im_end|>"]).ids) > 1
    assert oracle.encode(["<|im_end|>"]).ids.tolist() == [2562]


def test_normalization_left_out_changes_exactly_the_cases_that_nfc_changes(
    oracle: Oracle, texts: list[str]
) -> None:
    with_nfc, without = oracle.encode(texts), oracle.under(normalizer=None).encode(texts)
    differing = {
        text
        for index, text in enumerate(texts)
        if with_nfc.answer(index).tolist() != without.answer(index).tolist()
    }
    assert differing == {text for text in texts if nfc(text) != text}
    assert len(differing) > 20


def test_threads_under_different_stages_do_not_disturb_each_other(oracle: Oracle) -> None:
    views = [oracle, oracle.under(normalizer=None), oracle.under(normalizer={"type": "NFD"})]
    text = [f"é {ACUTE} ü"]
    wanted = [view.encode(text).ids.tolist() for view in views]
    assert len({tuple(one) for one in wanted}) == 3
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda i: views[i % 3].encode(text).ids.tolist(), range(600)))
    assert found == [wanted[index % 3] for index in range(600)]


def test_an_unknown_stage_or_flag_is_refused(oracle: Oracle) -> None:
    with pytest.raises(TokenizerError, match="is no normalizer that tokenizers"):
        oracle.under(normalizer={"type": "NFX"})
    with pytest.raises(TokenizerError, match="is no pre_tokenizer"):
        oracle.under(pre_tokenizer={"type": "NFC"})
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0.0]], "byte_fallback": False}
    other = Oracle.from_description(described(model=unigram, added_tokens=[], post_processor=None))
    with pytest.raises(TokenizerError, match="has no 'ignore_merges'"):
        other.under(ignore_merges=True)


def test_the_library_has_the_unicode_versions_that_are_recorded() -> None:
    facts = unicode_facts()
    assert facts["pattern_classes"] == "16.0"
    assert facts["normalizer"] == "9.0"
    assert facts["U+1FAE8 is \\p{S}"] is True
    assert facts["U+32FF is decomposed"] is False
    assert facts["U+A7F2 is decomposed"] is False
    assert facts["U+11938 is decomposed"] is False


def test_our_nfc_is_the_oracles_on_every_code_point() -> None:
    library = normalizers.NFC()
    # Planes 4 to 13 hold nothing but unassigned code points: every 97th of them will do.
    codes = [*range(0x40000), *range(0x40000, 0xE0000, 97), *range(0xE0000, 0x110000, 7)]
    chars = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for start in range(0, len(chars), 64):
        # Alone, before a mark that it may compose with, and among marks that it may pass.
        text = " ".join(
            f"{char} e\u0323{char}\u0301 a{char}\u0334 \u1100{char}"
            for char in chars[start : start + 64]
        )
        assert nfc(text) == library.normalize_str(text), f"near U+{ord(chars[start]):04X}"


@pytest.mark.parametrize(
    ("content", "what", "where"),
    [
        ('{"model": [}', "is not JSON", ":1:12"),
        ('{"model": {"type": "BPE"},\n "x": }', "is not JSON", ":2:7"),
        ('{"a": 1}', "has no 'model'", ""),
        ('{"model": 1}', "has no 'model'", ""),
        ('{"version": "1.0", "model": {"type": "Foo"}}', "is of a kind that tokenizers 0", ""),
        ('{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, '
         '"merges": [["a", "b"]]}}', "out of vocabulary", ""),
        ('{"model": ' + "[" * 1_000_000 + "}", "nested too deeply", ""),
        ('{"model":' * 100_000 + "1" + "}" * 100_000, "nested too deeply", ""),
        ('{"model": {"type": "BPE"}, "x": ' + "1" * 5000 + "}", "is not JSON", ""),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_loaded_says_why(
    tmp_path: Path, content: str, what: str, where: str
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(TokenizerError) as caught:
        Oracle.load(path)
    assert what in caught.value.what
    assert caught.value.where == f"{path}{where}"
    assert len(str(caught.value)) < 600


def test_a_file_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b'{"model": "\xff"}')
    with pytest.raises(TokenizerError, match="is not JSON"):
        Oracle.load(path)


def test_starting_a_program_after_encoding_warns_of_nothing(tmp_path: Path) -> None:
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom harness.oracle import Oracle\n"
        f"Oracle.load(Path({str(BUNDLED)!r})).encode(['a', 'b'] * 50)\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TOKENIZERS_PARALLELISM"}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def small(described: dict[str, Any], **changes: object) -> dict[str, Any]:
    """The description as hypotheses have it: without vocabulary and merges."""
    whole = described | changes
    fields = {k: v for k, v in whole["model"].items() if k not in ("vocab", "merges")}
    return {**whole, "model": fields}


def with_flag(flag: str, value: bool) -> Callable[[dict[str, Any]], None]:
    return lambda d: d.update(added_tokens=[{**one, flag: value} for one in d["added_tokens"]])


WHOLE_CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "nothing": lambda d: None,
    "no-normalizer": lambda d: d.update(normalizer=None),
    "no-pre-tokenizer": lambda d: d.update(pre_tokenizer=BYTE_LEVEL),
    "no-post-processor": lambda d: d.update(post_processor=None),
    "lstrip-off": with_flag("lstrip", False),
    "rstrip-on": with_flag("rstrip", True),
    "single-word-off": with_flag("single_word", False),
    "normalized-off": with_flag("normalized", False),
    "normalized-on": with_flag("normalized", True),
    "normalized-on-without-a-normalizer": lambda d: (
        with_flag("normalized", True)(d),
        d.update(normalizer=None),
    )[-1],
    "ignore-merges": lambda d: d["model"].update(ignore_merges=True),
    "no-merges": lambda d: d["model"].update(dropout=1.0),
}


@pytest.mark.parametrize("name", WHOLE_CHANGES)
def test_a_changed_description_is_a_changed_file(
    name: str, oracle: Oracle, texts: list[str]
) -> None:
    description = described()
    WHOLE_CHANGES[name](description)
    loaded = Oracle.from_description(description)
    before = oracle.encode(texts)
    changed = oracle.described(small(description))
    for special in (False, True):
        wanted, found = loaded.encode(texts, special=special), changed.encode(texts, special)
        assert found.ids.tolist() == wanted.ids.tolist()
        assert found.offsets.tolist() == wanted.offsets.tolist()
    assert oracle.encode(texts).ids.tolist() == before.ids.tolist()


# A text for every added token: it alone, inside a word, between spaces, and decomposed.
def around_tokens(tokens: list[dict[str, Any]]) -> list[str]:
    found = []
    for token in tokens:
        content = token["content"]
        nfd = normalizers.NFD().normalize_str(content)
        found += [content, f"a{content}b", f"a  {content}  b", f"{nfd} {content}{content}"]
    return found


@pytest.mark.parametrize("left_out", ["all", "special", "plain", "every-other", "first", "last"])
def test_a_token_left_out_is_text_and_the_others_keep_their_ids(
    left_out: str, oracle: Oracle, texts: list[str]
) -> None:
    tokens = described()["added_tokens"]
    keep: dict[str, Callable[[int], bool]] = {
        "all": lambda place: False,
        "special": lambda place: not tokens[place]["special"],
        "plain": lambda place: bool(tokens[place]["special"]),
        "every-other": lambda place: place % 2 == 1,
        "first": lambda place: place > 0,
        "last": lambda place: place < len(tokens) - 1,
    }
    kept = [one for place, one in enumerate(tokens) if keep[left_out](place)]
    # As a reload has it: what is left out stands there under a content that no text holds.
    reloaded = [
        one if one in kept else {**one, "content": f"\ue000{place}\ue001", "normalized": False}
        for place, one in enumerate(tokens)
    ]
    asked = [*texts, *around_tokens(tokens)]
    wanted = Oracle.from_description(described(added_tokens=reloaded)).encode(asked)
    found = oracle.described(small(described(), added_tokens=kept)).encode(asked)
    assert found.ids.tolist() == wanted.ids.tolist()
    assert found.ids.tolist() != oracle.encode(asked).ids.tolist()
    for token in kept:
        own = oracle.described(small(described(), added_tokens=kept))
        assert own.encode([token["content"]]).ids.tolist() == [token["id"]]


def test_a_token_of_the_models_own_vocabulary_can_be_left_out() -> None:
    model = {
        **{"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None},
        **{"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False},
        **{"vocab": {"a": 0, "b": 1, "ab": 2, "aba": 3}, "merges": [["a", "b"]]},
    }
    flags = {"special": True, "lstrip": False, "rstrip": False, "single_word": False}
    tokens = [
        {**flags, "id": number, "content": content, "normalized": False}
        for number, content in [(3, "aba"), (4, "bb"), (5, "bbb")]
    ]
    plain = {"normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
    whole = described(model=model, added_tokens=tokens, **plain)
    own = Oracle.from_description(whole)
    assert own.encode(["ababbb"]).ids.tolist() == [3, 5]
    left = own.described(small(whole, added_tokens=tokens[2:]))
    assert left.encode(["ababbb", "aba"]).ids.tolist() == [2, 0, 5, 2, 0]


def test_variants_are_few_and_cheap(oracle: Oracle) -> None:
    tokens = described()["added_tokens"]
    variants = [
        small(described(), added_tokens=[*tokens[:place], *tokens[place + 1 :]])
        for place in range(len(tokens))
    ]
    text = ["".join(one["content"] for one in tokens)]
    for _ in range(3):
        for place, variant in enumerate(variants):
            found = oracle.described(variant).encode(text).ids.tolist()
            ids = {one["id"] for one in tokens}
            assert ids - set(found) >= {tokens[place]["id"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"normalizer": {"type": "NFX"}}, "is no normalizer"),
        ({"normalizer": {"type": "NFC", "unicode": "8.0"}}, "no normalizer NFC of Unicode 8.0"),
        ({"normalizer": {"type": "Lowercase", "unicode": "14.0"}}, "no normalizer Lowercase"),
        ({"post_processor": {"type": "NFC"}}, "is no post_processor"),
        ({"added_tokens": [{"id": 9, "content": "<new>"}]}, "declares no added token '<new>'"),
    ],
)
def test_what_cannot_be_tested_is_refused(
    change: dict[str, Any], words: str, oracle: Oracle
) -> None:
    with pytest.raises(TokenizerError, match=words):
        oracle.described(small(described(), **change)).encode(["a"])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("dropout", 0.1, "merges by chance"),
        ("type", "Unigram", "no 'type' to change"),
        ("fuse_unk", "yes", "'fuse_unk' cannot be 'yes'"),
        ("scores", "single", "no Unigram model"),
        ("merging", "alphabetical", "no model settings"),
    ],
)
def test_a_model_that_cannot_be_changed_so_is_refused(
    field: str, value: object, words: str, oracle: Oracle
) -> None:
    changed = small(described())
    changed["model"][field] = value
    with pytest.raises(TokenizerError, match=words):
        oracle.described(changed).encode(["a"])
    assert oracle.encode(["hello"]).lengths.tolist() == [2]


def test_merges_by_rank_are_ours_too_and_ties_fall_to_the_other_side(
    oracle: Oracle, texts: list[str]
) -> None:
    model = described()["model"]
    merges = merge_ranks(model)
    spelled = {number: piece for piece, number in model["vocab"].items()}
    plain = Tokenizer.from_file(str(BUNDLED))
    words = {word for text in texts for word, _ in plain.pre_tokenizer.pre_tokenize_str(text)}
    other = 0
    for word in words:
        letters = [model["vocab"][letter] for letter in word]
        left = merged(letters[:], merges, rightmost=False)
        assert left == [one.id for one in plain.model.tokenize(word)], word
        right = merged(letters[:], merges, rightmost=True)
        assert "".join(spelled[one] for one in right) == word
        other += left != right
    assert other


def test_merging_by_other_rules_keeps_added_and_special_tokens(
    oracle: Oracle, texts: list[str]
) -> None:
    vocab = described()["model"]["vocab"]
    for rule in ("longest-match", "ties-rightmost"):
        changed = small(described())
        changed["model"]["merging"] = rule
        own = oracle.described(changed)
        plain, special = own.encode_both(texts)
        assert plain.ids.tolist() != oracle.encode(texts).ids.tolist()
        assert special.ids.tolist() == own.encode(texts, special=True).ids.tolist()
        assert special.answer(0).tolist() == [2563, *plain.answer(0).tolist()]
        # Whatever the rule, the same text comes out.
        answers = [plain.answer(place).tolist() for place in range(len(plain))]
        whole = [oracle.encode([text]).ids.tolist() for text in texts]
        assert oracle.decode(answers) == oracle.decode(whole)
        assert own.encode(["<|im_end|>"]).ids.tolist() == [2562]
    changed = small(described(), pre_tokenizer=None)
    changed["model"]["merging"] = "longest-match"
    with pytest.raises(TokenizerError, match="outside its byte-level alphabet"):
        oracle.described(changed).encode(["a b"])
    changed = small(described())
    changed["model"]["merging"] = "longest-match"
    longest = max((one for one in vocab if one.isascii() and one.isalpha()), key=len)
    assert oracle.described(changed).encode([longest]).ids.tolist() == [vocab[longest]]


def unigram(**changes: object) -> dict[str, Any]:
    """A Unigram in which two segmentations tie in single precision and not in double."""
    tiny = 2.0**-30
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -1.0 - tiny], ["ab", -2.0], ["c", -3.0]]
    vocab += [[f"<0x{byte:02X}>", -9.0] for byte in range(256)]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": True} | changes
    return described(
        model=model, added_tokens=[], normalizer=None, pre_tokenizer=None, post_processor=None
    )


def test_scores_in_single_precision_and_in_double() -> None:
    whole = unigram()
    own = Oracle.from_description(whole)
    changed = small(whole)
    changed["model"]["scores"] = "single"
    # ab -2.0 is better than a+b by 2^-30, which single precision does not hold.
    assert own.encode(["ab"]).ids.tolist() == [3]
    texts = ["", "abc", "cab", "xé", "axb", "aabbccx"]
    double = Viterbi(whole["model"], "here", np.float64)
    for text in texts:
        assert list(double(text)) == own.encode([text]).ids.tolist(), text
    single = own.described(changed)
    tied = unigram(vocab=[["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["ab", -2.0 - 2.0**-30]])
    assert Oracle.from_description(tied).encode(["ab"]).ids.tolist() == [1, 2]
    changed = small(tied)
    changed["model"]["scores"] = "single"
    flipped = Oracle.from_description(tied).described(changed)
    assert flipped.encode(["ab"]).ids.tolist() == [3]
    assert single.encode(["xé"]).ids.tolist() == own.encode(["xé"]).ids.tolist()


def test_byte_fallback_of_a_unigram_can_be_switched_off() -> None:
    whole = unigram()
    own = Oracle.from_description(whole)
    changed = small(whole)
    changed["model"]["byte_fallback"] = False
    wanted = Oracle.from_description(unigram(byte_fallback=False))
    for text in ("é", "abxc", "xé"):
        found = own.described(changed).encode([text]).ids.tolist()
        assert found == wanted.encode([text]).ids.tolist()
        assert found != own.encode([text]).ids.tolist()


def test_a_form_of_unicode_9_is_the_librarys_own() -> None:
    codes = [
        *range(0x3100),
        *range(0xA000, 0xAC10),
        *range(0xF900, 0x20000),
        *range(0x2F800, 0x2FA20),
    ]
    chars = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for form in FORMS:
        own, library = Form(form, "9.0"), getattr(normalizers, form)()
        for start in range(0, len(chars), 64):
            text = " ".join(f"{char} e{char}\u0301" for char in chars[start : start + 64])
            found, wanted = own.text(text), library.normalize_str(text)
            assert found == wanted or own_only(found, wanted), f"near U+{ord(chars[start]):04X}"


def own_only(found: str, wanted: str) -> bool:
    """The library knows some marks of Unicode 10 to 16, and puts them in order."""
    return sorted(found) == sorted(wanted)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_versioned_normalizer_normalizes_by_that_version(wrapped: bool, oracle: Oracle) -> None:
    def normalize(version: str, text: str, form: str = "NFC") -> str:
        stage: dict[str, Any] = {"type": form, "unicode": version}
        if wrapped:
            stage = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, stage]}
        return oracle.described(small(described(), normalizer=stage)).normalize(text)

    square_era = "\u32ff"  # Unicode 12.1, a compatibility character
    assert normalize("12.0", square_era, "NFKD") == square_era
    assert normalize("12.1", square_era, "NFKD") == "\u4ee4\u548c"
    mark = "\u0898"  # Unicode 14.0, class 230: it may stand behind one of class 220
    assert normalize("14.0", f"x{mark}\u0323", "NFD") == f"x\u0323{mark}"
    assert normalize("13.0", f"x{mark}\u0323", "NFD") == f"x{mark}\u0323"
    # A newer character keeps those beside it apart, as any starter does.
    assert normalize("13.0", f"e{mark}\u0301") == f"e{mark}\u0301"
    long = f"{ACUTE}\n" * 40_000
    assert normalize("15.0", long) == "é\n" * 40_000
    assert normalize("15.0", "") == ""
    ids = oracle.described(
        small(described(), normalizer={"type": "NFC", "unicode": "16.0"})
    ).encode([f"Hell{ACUTE} <|caf{ACUTE}|>"])
    assert ids.ids.tolist() == oracle.encode([f"Hell{ACUTE} <|caf{ACUTE}|>"]).ids.tolist()
