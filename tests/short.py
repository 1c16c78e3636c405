"""What continuous integration leaves out, to stay under its time: ``TOKPARITY_TESTS=short``.

Each is the long form of something that another test shows in less time. They are deselected, which
pytest counts and prints; ``scripts/test`` by itself runs everything.
"""

import os

SHORT = os.environ.get("TOKPARITY_TESTS") == "short"

LEFT_OUT = (
    # Whole runs over carriers whose own tests stay.
    "test_docker_runner.py::test_the_bundled_subject_has_parity_in_a_container",
    "test_ssh_runner.py::test_the_bundled_subject_has_parity_over_ssh",
    # Further sanitizers, beside the two that find something.
    "test_sanitize.py::test_a_machine_without_the_libraries_finishes",
    "test_sanitize.py::test_a_sanitizer_that_is_there_looks",
    "test_sanitize.py::test_a_healthy_subject_shows_none",
    # Further reproducers, beside a divergence, a crash and the debuggers.
    "test_repro_run.py::test_a_switch_of_the_subject_goes_along",
    "test_repro_run.py::test_files_named_by_arguments_and_link_inputs_go_along",
    "test_repro_run.py::test_what_was_mended_is_not_reproduced",
    "test_repro_run.py::test_lanes_that_differ_and_are_mended_answer_alike",
    "test_repro_run.py::test_a_declared_deviation_that_is_gone_has_none",
    # Whole goldens of the real tokenizers, whose drift every run with them looks for.
    "test_bless.py::test_a_real_golden_is_what_the_oracle_gives",
    "test_readme.py::test_the_command_does_what_the_readme_says[.venv/bin/tokparity run --tokeni",
    "test_readme.py::test_the_command_does_what_the_readme_says[scripts/run tokparity.yaml",
    # Pages followed word for word, beside the first command of each.
    "test_subjects_page.py::test_a_declared_deviation_is_proven_and_its_end_is_noticed",
    "test_subjects_page.py::test_your_own_main_and_a_corpus_of_your_own",
    "test_subjects_page.py::test_another_triple_is_a_file",
    "test_subjects_page.py::test_any_program",
    "test_protocol_page.py::test_the_conversation_by_hand",
    "test_explain_run.py::test_a_case_that_diverges_is_shown_with_its_first_difference",
    "test_subjects_page.py::test_the_right_archive_is_found_in_each_lane",
    "test_isolate_run.py::test_a_lane_of_the_run_alone_has_the_probe_of_the_other",
    "test_reduce_run.py::test_a_hang_has_few_questions_with_less_time",
    "test_unicode_sweep.py::test_every_code_point_beside_added_tokens",
    # Sweeps of every code point under every version, beside those of the version in use.
    "test_unicode_ages.py::test_a_sweep_finds_each_character_under_its_age_alone",
    "test_unicode_ages.py::test_older_data_assign_what_newer_data_do_less_the_newer_characters",
    "test_hypotheses.py::test_a_cap_in_the_text_and_in_the_pre_tokenizer_break_alike",
)


def left_out(node: str) -> bool:
    """Whether a test, by its node id, is not for continuous integration."""
    return any(f"/{name}" in node for name in LEFT_OUT)
