"""The report as JSON, ``tokparity-report/1``; other programs rely on these fields."""

from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError
from harness.report.escape import json_text
from harness.report.model import COUNTS, SCHEMA, Cell, Finding, First, Policy, Report, ReportLane


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as a JSON-ready dictionary."""
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "exit": report.exit,
        "lanes": [
            {
                "name": lane.name,
                "axes": dict(lane.axes),
                "status": lane.status,
                "probe_sha256": lane.probe_sha256,
                "control": lane.control,
                "invalid": lane.invalid,
                "unavailable": lane.unavailable,
            }
            for lane in report.lanes
        ],
        "cells": [
            {
                "lane": cell.lane,
                "tokenizer": cell.tokenizer,
                "corpus": cell.corpus,
                "cases": cell.cases,
                **{name: getattr(cell, attribute) for name, attribute in COUNTS.items()},
            }
            for cell in report.cells
        ],
        "findings": [_finding(finding) for finding in report.findings],
        "limits": list(report.limits),
        "provenance": dict(report.provenance),
        "invalid": list(report.invalid),
        "drift": list(report.drift),
        "reused": list(report.reused),
        "byte_policies": [
            {
                "tokenizer": policy.tokenizer,
                "operation": policy.operation,
                "name": policy.name,
                "cases": policy.cases,
                "tried": dict(policy.tried),
            }
            for policy in report.policies
        ],
        "command": list(report.command),
        "called": dict(report.called),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    first = finding.first
    return {
        "id": finding.id,
        "tokenizer": finding.tokenizer,
        "operations": list(finding.operations),
        "lanes": list(finding.lanes),
        "cases": list(finding.cases),
        "axes": list(finding.axes),
        "cause": finding.cause,
        "declared": finding.declared,
        "absent": finding.absent,
        "summary": finding.summary,
        "reason": finding.reason,
        "link": finding.link,
        "evidence": dict(finding.evidence),
        "first": None
        if first is None
        else {
            "case": first.case,
            "index": first.index,
            "expected": list(first.expected),
            "observed": list(first.observed),
            "lane": first.lane,
            "operation": first.operation,
            "observed_status": first.observed_status,
            "expected_from": first.expected_from,
        },
    }


def dumps(report: Report) -> str:
    """Return the report as indented JSON in printable ASCII: no text in it acts on a terminal."""
    return json_text(to_dict(report))


def from_dict(document: Mapping[str, Any]) -> Report:
    """Return the report that :func:`to_dict` wrote.

    Raises :class:`UsageError` naming what is missing or wrong. Fields this version does not know
    are passed over: later versions may add some.
    """
    schema = document.get("schema")
    if schema != SCHEMA:
        raise UsageError(f"the report's schema is {schema!r}", expected=repr(SCHEMA))
    try:
        return Report(
            verdict=document["verdict"],
            exit=document["exit"],
            lanes=tuple(_lane(one) for one in document["lanes"]),
            cells=tuple(_cell(one) for one in document["cells"]),
            findings=tuple(_read_finding(one) for one in document["findings"]),
            limits=tuple(document["limits"]),
            provenance=document["provenance"],
            invalid=tuple(document.get("invalid", ())),
            drift=tuple(document.get("drift", ())),
            reused=tuple(document.get("reused", ())),
            policies=tuple(_policy(one) for one in document.get("byte_policies", ())),
            command=tuple(document.get("command", ("tokparity", "run"))),
            called=dict(document.get("called", {})),
        )
    except KeyError as missing:
        raise UsageError(f"the report lacks the field {missing}", expected=SCHEMA) from None
    except (TypeError, AttributeError) as wrong:
        raise UsageError(f"the report has a field of the wrong type: {wrong}") from None


def _lane(one: Mapping[str, Any]) -> ReportLane:
    return ReportLane(
        name=one["name"],
        axes=one["axes"],
        status=one["status"],
        probe_sha256=one["probe_sha256"],
        control=one.get("control", False),
        invalid=one.get("invalid"),
        unavailable=one.get("unavailable"),
    )


def _cell(one: Mapping[str, Any]) -> Cell:
    return Cell(
        lane=one["lane"],
        tokenizer=one["tokenizer"],
        corpus=one["corpus"],
        cases=one["cases"],
        **{attribute: one[name] for name, attribute in COUNTS.items()},
    )


def _policy(one: Mapping[str, Any]) -> Policy:
    return Policy(
        tokenizer=one["tokenizer"],
        operation=one["operation"],
        name=one["name"],
        cases=one["cases"],
        tried=one.get("tried", {}),
    )


def _read_finding(one: Mapping[str, Any]) -> Finding:
    return Finding(
        id=one["id"],
        tokenizer=one["tokenizer"],
        operations=tuple(one.get("operations", ())),
        lanes=tuple(one["lanes"]),
        cases=tuple(one["cases"]),
        axes=tuple(one["axes"]),
        cause=one["cause"],
        declared=one["declared"],
        summary=one.get("summary", ""),
        absent=one.get("absent", False),
        reason=one.get("reason"),
        link=one.get("link"),
        evidence=one["evidence"],
        first=None if one["first"] is None else _first(one["first"]),
    )


def _first(one: Mapping[str, Any]) -> First:
    return First(
        case=one["case"],
        index=one["index"],
        expected=tuple(one["expected"]),
        observed=tuple(one["observed"]),
        lane=one.get("lane", ""),
        operation=one.get("operation", "encode"),
        observed_status=one.get("observed_status", "ok"),
        expected_from=one.get("expected_from", "golden"),
    )
