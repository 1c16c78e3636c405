"""The oracle against the library itself: stages changed in place, Unicode facts, hostile files."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, normalizers

from harness.corpus import bundled_names, load
from harness.errors import TokenizerError
from harness.oracle import KEEP, Oracle, library_version, unicode_facts
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
