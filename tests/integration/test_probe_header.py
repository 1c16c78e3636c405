"""The protocol header under both signs of char, on both architectures, and clean everywhere.

The probe under test is ``cpp/echo.cpp``: an id is a byte's value. What is checked is the protocol's
page, ``docs/protocol.md``.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = ROOT / "probes" / "include"
ECHO = HERE / "cpp" / "echo.cpp"
ADAPTER = ROOT / "probes" / "adapters" / "from_file_encode.cpp"
STRICT = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wold-style-cast",
    "-Werror",
]
X86 = ["g++"]
ARM = ["aarch64-linux-gnu-g++", "-static"]
CORTEX_A53 = ["qemu-aarch64", "-cpu", "cortex-a53"]
LANES = {
    "x86_64/signed": (X86, [], "-fsigned-char"),
    "x86_64/unsigned": (X86, [], "-funsigned-char"),
    "aarch64/signed": (ARM, CORTEX_A53, "-fsigned-char"),
    "aarch64/unsigned": (ARM, CORTEX_A53, "-funsigned-char"),
}
ALL_BYTES = bytes(range(256))


def compiled(
    compiler: Sequence[str], out: Path, *flags: str, source: Path = ECHO, std: str = "c++17"
) -> Path:
    """Compile ``source`` with every warning an error, at -O2 unless told otherwise."""
    command = [*compiler, f"-std={std}", "-O2", *STRICT, f"-I{INCLUDE}", *flags, str(source)]
    done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@dataclass(frozen=True)
class Said:
    """All that one run of a probe said."""

    hello: dict[str, Any]
    answers: list[bytes]
    stderr: bytes
    status: int


@dataclass(frozen=True)
class Echo:
    """A built probe and how it is started."""

    name: str
    argv: tuple[str, ...]

    def run(self, requests: bytes, *args: str) -> Said:
        """Feed ``requests`` at once, up to the end of input."""
        done = subprocess.run(
            [*self.argv, "tokenizer.json", *args], input=requests, capture_output=True, check=False
        )
        assert done.stdout.isascii()
        assert done.stdout.endswith(b"\n")
        hello, *answers = done.stdout[:-1].split(b"\n")
        version, _, facts = hello.partition(b" ")
        assert version == b"tokparity/1"
        return Said(json.loads(facts), answers, done.stderr, done.returncode)

    def answer(self, request: bytes, *args: str) -> bytes:
        """The answer to one request."""
        (answer,) = self.run(request + b"\n", *args).answers
        return answer


def probe(directory: Path, name: str, *flags: str) -> Echo:
    compiler, runner, char = LANES[name]
    out = compiled(compiler, directory / name.replace("/", "-"), char, *flags)
    return Echo(name, (*runner, str(out)))


@pytest.fixture(scope="module", params=LANES)
def echo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Echo:
    return probe(tmp_path_factory.mktemp("echo"), request.param, "-ffp-contract=off")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Echo:
    return probe(tmp_path_factory.mktemp("native"), "x86_64/signed")


def err(message: bytes) -> bytes:
    return b"err " + message.hex().encode()


def ids(data: bytes) -> bytes:
    return b"".join([b"ok", *(b" %d" % byte for byte in data)])


# hello


def test_hello_states_what_the_binary_is(echo: Echo) -> None:
    arch, char = echo.name.split("/")
    hello = echo.run(b"").hello
    load_ms = hello.pop("load_ms")
    assert 0 <= load_ms < 60_000
    name, _, version = hello.pop("compiler").partition(" ")
    assert (name, version.count(".")) == ("gcc", 2)
    assert hello.pop("libc").startswith("glibc 2.")
    assert hello == {
        "subject": "echo",
        "version": "0",
        "arch": arch,
        "pointer_bits": 64,
        "char": char,
        "wchar": "signed" if arch == "x86_64" else "unsigned",
        "wchar_bits": 32,
        "long_double_bits": 64 if arch == "x86_64" else 113,
        "endian": "little",
        "cplusplus": 201703,
        "optimised": True,
        "fp_contract": "off",
        "operations": [
            "encode",
            "encode_special",
            "decode",
            "normalize",
            "pretokenize",
            "request",
        ],
    }


@pytest.mark.parametrize(
    ("lane", "flag", "fact"),
    [
        ("aarch64/unsigned", "-ffp-contract=fast", "fast"),
        ("aarch64/signed", "-ffp-contract=off", "off"),
        # Baseline x86-64 has no fused multiply-add: the flag changes nothing, and hello says so.
        ("x86_64/signed", "-ffp-contract=fast", "off"),
        ("x86_64/signed", "-O0", "off"),
    ],
)
def test_contraction_is_measured_and_not_taken_from_a_flag(
    lane: str, flag: str, fact: str, tmp_path: Path
) -> None:
    hello = probe(tmp_path, lane, flag).run(b"").hello
    assert hello["fp_contract"] == fact
    assert hello["optimised"] is (flag != "-O0")


def test_hello_names_its_compiler_and_its_standard(tmp_path: Path) -> None:
    clang = Echo("clang", (str(compiled(["clang++"], tmp_path / "clang", std="c++20")),))
    hello = clang.run(b"").hello
    assert hello["compiler"].startswith("clang ")
    assert hello["cplusplus"] == 202002


@pytest.mark.parametrize(
    ("name", "heard"),
    [
        (
            b'quote " backslash \\ tab\t escape\x1b del\x7f',
            'quote " backslash \\ tab\t escape\x1b del\x7f',
        ),
        ("é हि 🫨".encode(), "é हि 🫨"),
        (b"a\xffb\xc3", "a\ufffdb\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xc0\x80\xf4\x90\x80\x80", "\ufffd" * 6),
        (b"", ""),
    ],
)
def test_hello_is_ascii_json_whatever_the_name(echo: Echo, name: bytes, heard: str) -> None:
    done = subprocess.run(
        [*echo.argv, "tokenizer.json", "name", name], capture_output=True, check=True, input=b""
    )
    line = done.stdout.rstrip(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in line)
    assert json.loads(line.removeprefix(b"tokparity/1 "))["subject"] == heard


@pytest.mark.parametrize(
    ("how", "key", "reason"),
    [
        ("refuse", "refused", 'no "Unigram" here'),
        ("throw", "error", "cannot read tokenizer.json"),
        ("throw int", "error", "an exception that is no std::exception"),
        ("no encode", "error", "the subject has no encode"),
    ],
)
def test_a_tokenizer_that_does_not_load_is_a_hello_and_no_answers(
    echo: Echo, how: str, key: str, reason: str
) -> None:
    said = echo.run(b"encode 41\n", how)
    assert said.hello[key] == reason
    assert said.hello["operations"] == []
    assert (said.answers, said.status) == ([], 0)


def test_without_a_tokenizer_there_is_a_usage_line(native: Echo) -> None:
    done = subprocess.run([*native.argv], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"usage: ")


# answers


def test_every_byte_value_alone_and_together(echo: Echo) -> None:
    texts = [bytes([byte]) for byte in ALL_BYTES] + [ALL_BYTES, ALL_BYTES[::-1]]
    requests = b"".join(b"encode " + text.hex().encode() + b"\n" for text in texts)
    assert echo.run(requests).answers == [ids(text) for text in texts]
    upper = b"encode " + ALL_BYTES.hex().upper().encode()
    assert echo.answer(upper) == ids(ALL_BYTES)
    assert echo.answer(b"decode" + ids(ALL_BYTES)[2:]) == b"ok " + ALL_BYTES.hex().encode()
    assert echo.answer(b"normalize " + ALL_BYTES.hex().encode()) == (
        b"ok " + ALL_BYTES[::-1].hex().encode()
    )


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [
        (b"encode ", b"ok"),
        (b"encode " + b"none".hex().encode(), b"ok"),
        (b"encode " + b"widest".hex().encode(), b"ok 0 4294967295"),
        (b"encode_special 41", b"ok 1000 65"),
        (b"encode_special ", b"ok 1000"),
        (b"decode 65 0 255", b"ok 4100ff"),
        (b"decode 0065", b"ok 41"),
        (b"decode ", b"ok "),
        (b"normalize ", b"ok "),
        (b"normalize 4142", b"ok 4241"),
        (b"pretokenize 414243", b"ok 41 4243"),
        (b"pretokenize 41", err(b"pretokenize gave an empty piece")),
        (b"pretokenize ", b"ok"),
        (b"request 41", b"ok 3c413e 65"),
        (b"request ", b"ok 3c3e"),
    ],
)
def test_each_operation(echo: Echo, request_line: bytes, answer: bytes) -> None:
    assert echo.answer(request_line) == answer


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [
        (b"encode 4", err(b"odd number of hexadecimal digits")),
        (b"encode 4g", err(b"not a hexadecimal digit")),
        (b"encode 4\xff", err(b"not a hexadecimal digit")),
        (b"encode 41 42", err(b"odd number of hexadecimal digits")),
        (b"encode  41", err(b"odd number of hexadecimal digits")),
        (b"encode 41\r", err(b"odd number of hexadecimal digits")),
        (b"encode 4\x00", err(b"not a hexadecimal digit")),
        (b"encode", err(b"no space after the operation")),
        (b"decode 4294967296", err(b"id above 4294967295")),
        (b"decode 99999999999999999999999", err(b"id above 4294967295")),
        (b"decode -1", err(b"not a decimal number")),
        (b"decode +1", err(b"not a decimal number")),
        (b"decode 1x", err(b"not a decimal number")),
        (b"decode 1  2", err(b"not a decimal number")),
        (b"decode 1 ", err(b"not a decimal number")),
        (b"decode 1\r", err(b"not a decimal number")),
        (b"", err(b"empty request")),
        (b" ", b"unsupported"),
        (b"Encode 41", b"unsupported"),
        (b"encode\r", b"unsupported"),
        (b"\xff\xfe", b"unsupported"),
        (b"quit", b"unsupported"),
    ],
)
def test_a_malformed_request_is_answered_and_the_next_one_too(
    echo: Echo, request_line: bytes, answer: bytes
) -> None:
    said = echo.run(request_line + b"\nencode 41\n")
    assert said.answers == [answer, b"ok 65"]
    assert said.status == 0


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (b"throw", err(b"as asked: \xff\n")),
        (b"throw nothing", err(b"an exception without a message")),
        (b"throw int", err(b"an exception that is no std::exception")),
        (b"unsupported", b"unsupported"),
    ],
)
def test_an_exception_costs_its_own_case_only(echo: Echo, text: bytes, answer: bytes) -> None:
    request = b"encode " + text.hex().encode()
    assert echo.run(request + b"\nencode 41\n").answers == [answer, b"ok 65"]
    assert echo.answer(b"decode 256") == err(b"no byte has the id 256")


def test_an_operation_that_is_not_offered_is_unsupported(echo: Echo) -> None:
    requests = (
        b"encode 41\nencode_special 41\ndecode 65\nnormalize 41\npretokenize 41\nrequest 41\n"
    )
    said = echo.run(requests, "encode only")
    assert said.hello["operations"] == ["encode"]
    assert said.answers == [b"ok 65", *[b"unsupported"] * 5]


# the stream


def test_what_the_subject_prints_or_reads_does_not_reach_the_protocol(echo: Echo) -> None:
    requests = b"".join(
        b"encode " + text.hex().encode() + b"\n" for text in (b"noise", b"read", b"A")
    )
    said = echo.run(requests)
    assert said.answers == [ids(b"noise"), ids(b"read"), b"ok 65"]
    for line in (b"ok 1 2 3\n", b"ok 4 5 6\n", b"noise from a static initialiser\n"):
        assert line in said.stderr


def test_noise_is_harmless_where_stderr_is_closed(native: Echo) -> None:
    noisy = f"encode {b'noise'.hex()}\\nencode 41\\n"
    done = subprocess.run(
        ["/bin/sh", "-c", f"printf '{noisy}' | '{native.argv[0]}' tokenizer.json 2>&-"],
        capture_output=True,
        check=True,
    )
    assert done.stdout.split(b"\n")[1:] == [ids(b"noise"), b"ok 65", b""]


def test_the_last_line_needs_no_newline(echo: Echo) -> None:
    assert echo.run(b"encode 41\nencode 42").answers == [b"ok 65", b"ok 66"]


def test_no_request_at_all(echo: Echo) -> None:
    said = echo.run(b"")
    assert (said.answers, said.status) == ([], 0)


def test_each_answer_is_there_before_the_next_request(echo: Echo) -> None:
    with subprocess.Popen(
        [*echo.argv, "tokenizer.json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"tokparity/1 {")
        for byte in b"abc":
            process.stdin.write(b"encode %02x\n" % byte)
            process.stdin.flush()
            assert process.stdout.readline() == b"ok %d\n" % byte
        process.stdin.write(b"encode 6")
        process.stdin.flush()
        process.stdin.write(b"4\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ok 100\n"
        process.stdin.close()
        assert process.wait() == 0


def test_ten_megabytes_in_one_line(echo: Echo) -> None:
    text = bytes(range(250)) * 40_000
    said = echo.run(b"encode 41\nencode " + text.hex().encode() + b"\nencode 42\n")
    assert said.answers == [b"ok 65", ids(text), b"ok 66"]


def test_many_lines_of_every_length_around_the_buffer(echo: Echo) -> None:
    texts = [ALL_BYTES[: length % 256] * (1 + length // 64) for length in range(0, 2000, 7)]
    requests = b"".join(b"encode " + text.hex().encode() + b"\n" for text in texts)
    assert echo.run(requests).answers == [ids(text) for text in texts]


def test_a_reader_that_has_gone_is_no_crash(echo: Echo) -> None:
    with subprocess.Popen(
        [*echo.argv, "tokenizer.json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"encode 41\nencode 42\n")
        process.stdin.close()
        assert process.wait() == 0
        assert process.stderr.read() == b"noise from a static initialiser\n"


# cleanliness


@pytest.mark.parametrize("std", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++", "aarch64-linux-gnu-g++"])
def test_no_warning(compiler: str, std: str, tmp_path: Path) -> None:
    for char in ("-fsigned-char", "-funsigned-char"):
        compiled([compiler], tmp_path / "echo.o", "-c", char, std=std)


def test_the_strict_flags_do_find_a_plain_char_trap(tmp_path: Path) -> None:
    """The planted defect of the test above: a plain char that widens without a cast."""
    trap = tmp_path / "trap.cpp"
    trap.write_text("unsigned value(char byte) { return byte; }\n")
    with pytest.raises(AssertionError, match="sign-conversion"):
        compiled(["g++"], tmp_path / "trap.o", "-c", "-fsigned-char", source=trap)


def test_clean_under_sanitizers(tmp_path: Path) -> None:
    out = compiled(X86, tmp_path / "echo", "-g", "-fsanitize=address,undefined",
                   "-fno-sanitize-recover=all")  # fmt: skip
    sanitized = Echo("x86_64/signed", (str(out),))
    hexes = [b"", b"4", b"4g", ALL_BYTES.hex().encode(), *(b"%02x" % byte for byte in ALL_BYTES)]
    hexes += [text.hex().encode() for text in (b"throw", b"throw int", b"noise", b"widest")]
    requests = b"".join(
        operation + b" " + text + b"\n"
        for operation in (b"encode", b"encode_special", b"normalize", b"pretokenize", b"request")
        for text in hexes
    )
    requests += b"decode 1 2 999\ndecode 4294967296\ndecode 1 2\nencode " + b"c3" * 300_000
    said = sanitized.run(requests)
    assert len(said.answers) == 5 * len(hexes) + 4
    assert said.status == 0
    assert b"Sanitizer" not in said.stderr
    assert b"runtime error" not in said.stderr


# the adapter


def adapted(tmp_path: Path, *defines: str) -> Echo:
    flags = [f"-I{HERE / 'cpp'}", '-DTOKPARITY_HEADER="foreign.hpp"']
    flags += [f"-D{define}" for define in defines]
    return Echo("adapted", (str(compiled(X86, tmp_path / "adapted", *flags, source=ADAPTER)),))


def test_the_adapter_speaks_for_a_factory_that_returns_a_pointer(tmp_path: Path) -> None:
    foreign = adapted(tmp_path, "TOKPARITY_TYPE=foreign::Tokenizer")
    (tmp_path / "tokenizer.json").write_text("{}")
    done = subprocess.run(
        [*foreign.argv, "tokenizer.json"],
        input=b"encode 41ff\nencode 2d\n",
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    hello, *answers = done.stdout.splitlines()
    assert json.loads(hello.partition(b" ")[2])["subject"] == "foreign::Tokenizer"
    assert answers == [b"ok 65 255", err(b"id -1")]


def test_the_adapter_says_that_a_null_pointer_was_loaded(tmp_path: Path) -> None:
    foreign = adapted(tmp_path, "TOKPARITY_TYPE=foreign::Tokenizer")
    done = subprocess.run(
        [*foreign.argv, str(tmp_path / "absent.json")], capture_output=True, check=True, input=b""
    )
    hello = json.loads(done.stdout.partition(b" ")[2])
    assert hello["error"] == "foreign::Tokenizer::from_file(path) gave null"


def test_the_adapter_takes_expressions_for_any_other_interface(tmp_path: Path) -> None:
    foreign = adapted(
        tmp_path,
        "TOKPARITY_TYPE=foreign::Plain",
        "TOKPARITY_LOAD=foreign::load_plain(path)",
        "TOKPARITY_ENCODE=tokenizer.ids_of(text)",
    )
    assert foreign.run(b"encode 4142\n").answers == [b"ok 7 7"]
