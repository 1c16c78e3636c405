"""A receipt: by what method a run's lengths were counted, on which boundary, by which tokenizer.

It names a method only where it was used: a file's lengths are ``server_usage`` where they came from
the server and ``client_tokenizer`` where the benchmark's client counted, and None where that is not
known. The digest of a tokenizer stands beside what that tokenizer counted, and nowhere else: which
one a benchmark's client used is not in its file.
"""

from dataclasses import dataclass
from typing import Any, Literal

from harness.served.benchfiles import Run, Source
from harness.served.target import Boundary, Target

SCHEMA = "tokparity-receipt/1"
_METHODS: dict[Source, Literal["server_usage", "client_tokenizer"] | None] = {
    Source.SERVER: "server_usage",
    Source.CLIENT: "client_tokenizer",
    Source.UNKNOWN: None,
}


@dataclass(frozen=True)
class Receipt:
    """What was compared with what, for one run.

    ``tokenizer_sha256`` is of the tokenizer that counted the target here; None where a number was
    given, or there is no target.
    """

    method: Literal["server_usage", "client_tokenizer"] | None
    boundary: Boundary | None
    tokenizer_sha256: str | None
    target_method: Literal["given", "client_tokenizer"] | None
    file_sha256: str
    prompts_sha256: str | None
    eligible: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as a JSON-ready dictionary."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "boundary": self.boundary,
            "tokenizer_sha256": self.tokenizer_sha256,
            "target_method": self.target_method,
            "file_sha256": self.file_sha256,
            "prompts_sha256": self.prompts_sha256,
            "binding_eligible": self.eligible,
        }

    def __str__(self) -> str:
        """Return the receipt in words."""
        if self.target_method is None:
            against = "held against nothing"
        elif self.target_method == "given":
            against = "held against a given number"
        else:
            against = f"held against counts of the tokenizer {self.tokenizer_sha256}"
        method = self.method or "not known"
        side = f", boundary {self.boundary}" if self.boundary else ""
        return f"method {method}{side}; {against}; file {self.file_sha256[:16]}"


def receipt(
    run: Run,
    target: Target | None,
    *,
    tokenizer_sha256: str | None,
    prompts_sha256: str | None,
    eligible: bool,
) -> Receipt:
    """Return the receipt of a run; a digest given is kept only where that tokenizer counted."""
    by_tokenizer = target is not None and target.method == "client_tokenizer"
    return Receipt(
        method=_METHODS[run.origin.source] if run.counted else None,
        boundary=None if target is None else target.boundary,
        tokenizer_sha256=tokenizer_sha256 if by_tokenizer else None,
        target_method=None if target is None else target.method,
        file_sha256=run.sha256,
        prompts_sha256=prompts_sha256 if by_tokenizer else None,
        eligible=eligible,
    )
