"""What sanitizers print, read: the kind of fault, the place, and whose place it is."""

from pathlib import Path

import pytest

from harness.sanitizer_words import MEMORY_ERROR, UNDEFINED_BEHAVIOUR, Fault, faults, owner

# As gcc 12 and clang 14 print them, cut after the frames that matter.
OVERFLOW = """\
/src/eng/probe.cpp:11:13: runtime error: signed integer overflow: 2 + 2147483646 cannot be \
represented in type 'int'
    #0 0x55ad01ccc713 in out_of_room source/probe.cpp:11
    #1 0x55ad01ccc14b in main source/probe.cpp:20
"""
NULL = "/src/eng/probe.cpp:10:55: runtime error: store to null pointer of type 'volatile int'\n"
HEADER = """\
/usr/include/c++/12/bits/stl_algobase.h:431:30: runtime error: null pointer passed as argument 1
    #0 0x1 in std::copy /usr/include/c++/12/bits/stl_algobase.h:431
    #1 0x2 (/lib/libx.so+0x12)
    #2 0x3 in take(char const*) include0/take.hpp:7
"""
HEAP = """\
=================================================================
==18099==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000024 at pc 0x55e7
READ of size 4 at 0x602000000024 thread T0
    #0 0x7fe4 in memcpy ../../../../src/libsanitizer/asan/asan_interceptors.inc:827
    #1 0x55e759523828 in main source/probe.cpp:9
    #2 0x7fe40b245249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58

0x602000000024 is located 8 bytes to the right of 12-byte region
allocated by thread T0 here:
    #0 0x7fe40b8b94c8 in operator new(unsigned long) ../asan/asan_new_delete.cpp:95
    #1 0x55e75952337e in make source/probe.cpp:3

SUMMARY: AddressSanitizer: heap-buffer-overflow source/probe.cpp:9 in main
==18099==ABORTING
"""
SEGV = "==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000 (pc 0x1 bp 0x2)\n"


def nobody(path: str) -> str | None:
    del path
    return None


def ours(path: str) -> str | None:
    return Path(path).name if path.startswith(("source/", "include0/", "/src/eng/")) else None


@pytest.mark.parametrize(
    ("text", "cause", "kind", "place"),
    [
        (OVERFLOW, UNDEFINED_BEHAVIOUR, "signed integer overflow", "probe.cpp:11"),
        (NULL, UNDEFINED_BEHAVIOUR, "store to null pointer", "probe.cpp:10"),
        (HEADER, UNDEFINED_BEHAVIOUR, "null pointer passed as argument", "take.hpp:7"),
        (HEAP, MEMORY_ERROR, "heap-buffer-overflow", "probe.cpp:9"),
        (SEGV, MEMORY_ERROR, "SEGV", "unknown place"),
    ],
)
def test_a_report_is_its_kind_and_the_subjects_own_line(
    text: str, cause: str, kind: str, place: str
) -> None:
    [found] = faults(f"starting\n{text}done\n", ours)
    assert (found.cause, found.kind, found.place) == (cause, kind, place)


def test_reports_are_read_in_order_and_each_once() -> None:
    found = faults(OVERFLOW + "\n" + NULL + "\n" + HEAP, ours)
    assert [one.place for one in found] == ["probe.cpp:11", "probe.cpp:10", "probe.cpp:9"]


def test_where_no_frame_is_the_subjects_the_first_is_named() -> None:
    assert faults(HEADER, nobody)[0].place == "/usr/include/c++/12/bits/stl_algobase.h:431"


def test_the_words_are_the_same_from_run_to_run() -> None:
    assert faults(HEAP, ours)[0].words == "heap-buffer-overflow"
    assert faults(SEGV, ours)[0].words == "SEGV on unknown address (pc bp )"
    assert len(faults(f"a.cpp:1:1: runtime error: {'x' * 999}\n", ours)[0].words) == 200


def test_what_a_subject_says_is_no_report() -> None:
    assert faults("runtime error: of mine\n==1== ERROR\nprobe.cpp:3: warning\n", ours) == []


def test_files_are_named_as_their_owner_knows_them(tmp_path: Path) -> None:
    for name in ("eng/a.cpp", "other/b.cpp", "inc/take.hpp", "eng/twin.hpp", "other/twin.hpp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    files = [tmp_path / "eng" / "a.cpp", tmp_path / "other" / "b.cpp"]
    own = owner(files, [tmp_path / "inc"], tmp_path / "eng")
    assert own("source/a.cpp") == "a.cpp"
    assert own("source/b.cpp") == "../other/b.cpp"
    assert own(str(tmp_path / "other" / "b.cpp")) == "../other/b.cpp"
    assert own("include0/take.hpp") == "../inc/take.hpp"
    # Two directories of sources have it, and the compiler calls both "source".
    assert own("source/twin.hpp") == "twin.hpp"
    assert own("include7/take.hpp") is None
    assert own("/usr/include/stdio.h") is None
    assert own("source/gone.cpp") is None


def test_a_fault_is_a_value() -> None:
    assert faults(NULL, ours) == [
        Fault(
            UNDEFINED_BEHAVIOUR,
            "store to null pointer",
            "probe.cpp:10",
            "store to null pointer of type 'volatile int'",
        )
    ]
