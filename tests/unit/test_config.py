"""What a tokparity.yaml may say, and how each mistake in one is answered."""

from pathlib import Path

import pytest

from harness.config import Config, Overrides, resolve
from harness.errors import UsageError
from harness.places import bundled

MAIN = "int main() {}\n"


def configured(directory: Path, text: str, overrides: Overrides | None = None) -> Config:
    (directory / "src").mkdir(exist_ok=True)
    for name in ("a.cpp", "b.cpp", "b_test.cpp", "probe.cpp"):
        (directory / "src" / name).write_text(MAIN, encoding="utf-8")
    path = directory / "tokparity.yaml"
    path.write_text(text, encoding="utf-8")
    return resolve(path, overrides or Overrides())


SUBJECT = "subject: {name: s, sources: ['src/*.cpp', '!src/*_test.cpp'], probe: src/probe.cpp}\n"


def test_without_a_file_everything_is_bundled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = resolve(None, Overrides())
    assert config.subject.name == "reference"
    assert config.tokenizers == ("bundled",)
    assert config.corpora == ("bundled",)
    assert config.lanes == "default"
    assert config.subject.probe is not None
    assert config.subject.probe.name == "main.cpp"
    assert config.subject.probe not in config.subject.sources


def test_a_file_here_is_found_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(tmp_path, "tokenizers: [gpt2]\n")
    monkeypatch.chdir(tmp_path)
    assert resolve(None, Overrides()).tokenizers == ("gpt2",)


def test_sources_are_globs_relative_to_the_file_and_can_be_taken_away(tmp_path: Path) -> None:
    config = configured(tmp_path, SUBJECT)
    names = [path.name for path in config.subject.sources]
    assert names == ["a.cpp", "b.cpp"]
    assert all(path.is_absolute() for path in config.subject.sources)


def test_paths_of_tokenizers_and_corpora_are_relative_to_the_file(tmp_path: Path) -> None:
    config = configured(tmp_path, "tokenizers: [qwen3, ./my/t.json]\ncorpora: [c.jsonl]\n")
    assert config.tokenizers == ("qwen3", str(tmp_path / "my" / "t.json"))
    assert config.corpora == (str(tmp_path / "c.jsonl"),)


def test_the_command_line_wins(tmp_path: Path) -> None:
    line = Overrides(tokenizers=("qwen3",), corpora=("smoke",), jobs=7, cache=tmp_path / "c")
    config = configured(tmp_path, "tokenizers: [gpt2]\njobs: 3\ncache: d\n", line)
    assert config.tokenizers == ("qwen3",)
    assert config.corpora == ("smoke",)
    assert config.jobs == 7
    assert config.cache == tmp_path / "c"


def test_probe_arguments_add_to_the_files(tmp_path: Path) -> None:
    text = "subject: {name: reference, args: [--a]}\n"
    config = configured(tmp_path, text, Overrides(probe_args=("--b",)))
    assert config.subject.args == ("--a", "--b")
    assert config.subject.name == "reference"


def test_what_is_said_of_the_bundled_subject_is_not_passed_over(tmp_path: Path) -> None:
    text = "subject: {name: reference, std: c++23, flags: [-O1], defines: {X: 1}}\n"
    subject = configured(tmp_path, text).subject
    assert (subject.std, subject.flags, subject.defines) == ("c++23", ("-O1",), {"X": 1})


def test_one_include_directory_is_written_in_one_way(tmp_path: Path) -> None:
    text = "subject: {name: s, probe: src/probe.cpp, include: [src, src/../src, '{arch}/inc']}\n"
    _, one, other, placed = configured(tmp_path, text).subject.include
    assert one == other == tmp_path / "src"
    assert placed == tmp_path / "{arch}" / "inc"


def test_our_adapter_is_a_main(tmp_path: Path) -> None:
    config = configured(tmp_path, "subject: {name: s, adapter: from_file_encode}\n")
    assert config.subject.probe is not None
    assert config.subject.probe.name == "from_file_encode.cpp"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tokeniser: [x]\n", "tokenizers"),
        ("subject: {name: s, sorces: []}\n", "sources"),
        ("tokenizers: qwen3\n", "list"),
        ("jobs: many\n", "jobs"),
        ("jobs: 0\n", "jobs"),
        ("tokenizers: []\n", "tokenizers"),
        ("operations: [encod]\n", "encode"),
        ("lanes: [3]\n", "lanes"),
        ("a: b: c\n", ":1"),
        ("- a\n", "mapping"),
        ("limits: {case_seconds: -1}\n", "case_seconds"),
        ("subject: {name: s}\n", "no main"),
        ("subject: {name: s, probe: src/probe.cpp, command: [x]}\n", "exactly one"),
        ("subject: {sources: ['src/a.cpp'], probe: src/probe.cpp}\n", "subject.name"),
        ("subject: {name: s, probe: src/gone.cpp}\n", "gone.cpp"),
        ("subject: {name: s, sources: ['nope/*.cpp'], probe: src/probe.cpp}\n", "nope"),
        ("subject: {name: s, probe: src/probe.cpp, include: [gone]}\n", "subject.include[0]"),
        ("subject: {name: s, adapter: from_file_encoder}\n", "from_file_encode"),
        ("subject: {name: s, command: [./gone]}\n", "gone"),
        ("subject: {name: s, command: []}\n", "exactly one"),
        ("deviations: [{cause: normaliser-left-out, reason: r}]\n", "normalizer-left-out"),
        ("deviations: [{cause: normalizer-left-out}]\n", "reason"),
        ("deviations: [{reason: r}]\n", "exactly one of cause and hypothesis"),
        ("deviations: [{cause: crash, hypothesis: crash, reason: r}]\n", "names two causes"),
        ("deviations: [{hypothesis: crsh, reason: r}]\n", "deviations[0].hypothesis"),
        ("deviations: [{cause: crash+hang, reason: r}]\n", "no cause"),
        ("deviations: [{cause: crash, reason: ' '}]\n", "reason: is empty"),
        ("deviations: [{cause: memory-error, reason: r}]\n", "no cause"),
        ("deviations: [{cause: marks-capped, parameters: {cap: 1.5}, reason: r}]\n", "cap"),
        ("deviations: [{cause: platform-char-arch, reason: r}]\n", "'platform-arch-char'?"),
        ("deviations: [{cause: platform-char, reason: r}]\n", "did you mean 'char-signedness'?"),
        ("deviations: [{cause: platform-anything, reason: r}]\n", "names no set of axes"),
        ("deviations: [{cause: platform-, reason: r}]\n", "axes joined by -, of arch, char, "),
        ("deviations: [{cause: platform-arch-chr, reason: r}]\n", "'platform-arch-char'?"),
        ("deviations: [{cause: platform-arch-arch, reason: r}]\n", "names no set of axes"),
        (
            "deviations: [{cause: normalizer-left-out+nul-ends-txt, reason: r}]\n",
            "its part 'nul-ends-txt' is no hypothesis\n  expected: did you mean 'nul-ends-text'?",
        ),
        ("deviations: [{cause: marks-capped+crash, reason: r}]\n", "its part 'crash' is no hyp"),
        ("deviations: [{cause: marks-capped+, reason: r}]\n", "its part '' is no hypothesis"),
        ("deviations: [{cause: bom-dropped+bom-dropped, reason: r}]\n", "'bom-dropped' stands in"),
        ("toolchains: [./gone]\n", "gone"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        configured(tmp_path, text)
    assert words in str(caught.value)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.yaml"):
        resolve(tmp_path / "gone.yaml", Overrides())


def test_yaml_off_is_not_silently_false(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lanes"):
        configured(tmp_path, "lanes: {fp-contract: [off]}\n")


def test_a_deviation_may_be_of_one_subject_and_of_certain_values(tmp_path: Path) -> None:
    text = (
        "deviations:\n"
        "  - {hypothesis: marks-capped, subject: eng*, parameters: {cap: 6}, reason: r}\n"
        "  - {cause: normalizer-left-out+nul-ends-text, reason: r, link: 'https://x.example'}\n"
    )
    first, second = configured(tmp_path, text).deviations
    assert (first.cause, first.subject) == ("marks-capped", "eng*")
    assert first.parameters == (("cap", "6"),)
    assert first.of("engine")
    assert not first.of("other")
    assert second.parts == {"normalizer-left-out", "nul-ends-text"}
    assert second.link == "https://x.example"


@pytest.mark.parametrize(
    ("cause", "key", "words"),
    [
        (
            "marks-capped",
            "cpa",
            "marks-capped has no parameter 'cpa'\n  expected: one of cap, broken, counted\n"
            "  remedy: did you mean 'cap'?",
        ),
        ("marks-capped", "unicode", "expected: one of cap, broken, counted"),
        ("normalizer-left-out", "unicode", "has no parameter 'unicode', nor any other"),
        ("char-signedness", "cap", "has no parameter 'cap', nor any other"),
        ("platform-arch-char", "cap", "has no parameter 'cap', nor any other"),
        ("crash", "cap", "has no parameter 'cap', nor any other"),
        ("marks-capped+nul-ends-text", "cap", "did you mean 'marks-capped.cap'?"),
        ("marks-capped", "marks-capped.cap", "has no parameter 'marks-capped.cap'"),
    ],
)
def test_a_parameter_that_the_cause_does_not_have(
    tmp_path: Path, cause: str, key: str, words: str
) -> None:
    text = f"deviations: [{{cause: {cause}, parameters: {{{key}: 6}}, reason: r}}]\n"
    with pytest.raises(UsageError) as caught:
        configured(tmp_path, text)
    assert f"tokparity.yaml: deviations[0].parameters.{key}: " in str(caught.value)
    assert words in str(caught.value)


def test_the_parameters_of_a_combination_are_those_of_its_parts(tmp_path: Path) -> None:
    text = (
        "deviations: [{cause: marks-capped+truncated-bytes, reason: r, "
        "parameters: {marks-capped.cap: 6, truncated-bytes.n: 16}}]\n"
    )
    [one] = configured(tmp_path, text).deviations
    assert one.parameters == (("marks-capped.cap", "6"), ("truncated-bytes.n", "16"))


def test_axes_of_a_toolchain_file_may_be_declared(tmp_path: Path) -> None:
    text = "deviations: [{cause: platform-arch-moon, reason: r}]\n"
    with pytest.raises(UsageError, match="no cause"):
        configured(tmp_path, text)
    ours = bundled("toolchains") / "aarch64-linux-gnu.yaml"
    own = tmp_path / "toolchains" / ours.name
    own.parent.mkdir()
    words = "axes:\n  moon: {default: new, values: {new: {}, full: {}}}\n"
    own.write_text(ours.read_text().replace("axes:\n", words))
    [one] = configured(tmp_path, f"toolchains: [toolchains]\n{text}").deviations
    assert one.cause == "platform-arch-moon"
    # A sanitizer's lanes are compared with nothing.
    text = text.replace("moon", "sanitizer")
    with pytest.raises(UsageError, match="no cause"):
        configured(tmp_path, f"toolchains: [toolchains]\n{text}")


MARKS = "{cause: marks-capped, parameters: {cap: 6}, reason: r}"


@pytest.mark.parametrize(
    ("one", "other", "twice"),
    [
        (MARKS, MARKS.replace("reason: r", "reason: again, link: 'https://x.example'"), True),
        (MARKS, MARKS.replace("cause", "hypothesis").replace("6", "'6'"), True),
        (MARKS, MARKS.replace("reason", "lanes: ['*'], subject: '*', reason"), True),
        ("{cause: bom-dropped+crlf-to-lf, reason: r}",) * 2 + (True,),
        (
            "{cause: bom-dropped+crlf-to-lf, reason: r}",
            "{cause: crlf-to-lf+bom-dropped, reason: r}",
            True,
        ),
        (
            "{cause: crash, tokenizers: [a, b], reason: r}",
            "{cause: crash, tokenizers: [b, a, a], reason: r}",
            True,
        ),
        (MARKS, MARKS.replace("6", "7"), False),
        (MARKS, MARKS.replace("reason", "lanes: ['x*'], reason"), False),
        (MARKS, MARKS.replace("reason", "tokenizers: ['x*'], reason"), False),
        (MARKS, MARKS.replace("reason", "subject: mine, reason"), False),
        (MARKS, "{cause: marks-capped, reason: r}", False),
        ("{cause: bom-dropped, reason: r}", "{cause: crlf-to-lf, reason: r}", False),
    ],
)
def test_what_is_declared_twice_is_refused(
    tmp_path: Path, one: str, other: str, twice: bool
) -> None:
    text = f"deviations:\n  - {one}\n  - {{cause: hang, reason: r}}\n  - {other}\n"
    if not twice:
        assert len(configured(tmp_path, text).deviations) == 3
        return
    with pytest.raises(UsageError) as caught:
        configured(tmp_path, text)
    assert "tokparity.yaml: deviations[2]: declares " in str(caught.value)
    assert "as deviations[0] does already" in str(caught.value)


def test_a_cause_of_any_length_is_answered_at_once(tmp_path: Path) -> None:
    for cause in ("platform-" + "arch-" * 5000, "+".join(["marks-capped"] * 5000), "x" * 50_000):
        with pytest.raises(UsageError, match="no cause"):
            configured(tmp_path, f"deviations: [{{cause: {cause}, reason: r}}]\n")


def test_sanitizers_are_asked_for_on_the_command_line(tmp_path: Path) -> None:
    assert not configured(tmp_path, "{}\n").sanitize
    assert configured(tmp_path, "{}\n", Overrides(sanitize=True)).sanitize
