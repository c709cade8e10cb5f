"""The examples in the OpenAPI document: what the service answers about `deployment/example/catalog.json`.

They are made of the models that answer, so none of them can be what the service would never say; a test asks a real
service the same questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from selector.adapters.clock import DEADLINE_HEADER, DEADLINE_NEEDS
from selector.adapters.faults import NO_OBJECT, OF_FIELD, TWICE, UNREADABLE, Fault
from selector.adapters.problems import PROBLEMS, Code, problem_content, refused_content
from selector.explanation import ClauseMatch, ExplainReply, Threshold, ToolExplanation, Weights, WordMatch
from selector.reports import Alive, ApplicationReport, Ready, ServedReport, SurfaceReport
from surface.protocol import MAX_LIMIT, RankBatchReply, RankedName, RankReply

QUERY: Final = "find the overdue invoices and remind each customer"
UNANSWERABLE: Final = "how tall is the Eiffel tower"

_VERSION: Final = "538ed1df6b4ecd630fe71000ea0a4758"
_DIGEST: Final = "4c76cedfa3e2ecba3ea44488e1b00634"

_RANKED: Final = RankReply(
    surface="clerk",
    index_version=_VERSION,
    catalog_digest=_DIGEST,
    ranked=(RankedName(name="overdue_invoices", score=10.97), RankedName(name="send_reminder", score=10.01)),
)
_ABSTAINED: Final = RankReply(surface="clerk", index_version=_VERSION, catalog_digest=_DIGEST, abstained=True)
_EXPLAINED: Final = ExplainReply(
    surface="clerk",
    index_version=_VERSION,
    catalog_digest=_DIGEST,
    abstained=False,
    degraded=None,
    clauses=("find the overdue invoices", "remind each customer"),
    unknown_words=("find", "each"),
    weights=Weights(trust=1.0, mean=0.05, spread=0.09, lexical_weight=0.15, clause_weight=0.5),
    threshold=Threshold(nearest=0.63, needed=0.24, applies=True),
    ranked=(
        ToolExplanation(
            name="overdue_invoices",
            score=10.97,
            called=False,
            words=(
                WordMatch(word="overdue", points=2.92, in_name=True),
                WordMatch(word="invoice", points=2.09, in_name=True),
                WordMatch(word="customer", points=0.91, in_name=False),
            ),
            lexical=5.92,
            cosine=0.63,
            cosine_at_most=False,
            whole=7.54,
            nearest_clause=ClauseMatch(clause="find the overdue invoices", score=6.86),
        ),
    ),
    left_out=(
        ToolExplanation(
            name="refund_payment",
            score=3.65,
            called=False,
            words=(WordMatch(word="customer", points=0.91, in_name=False),),
            lexical=0.91,
            cosine=0.26,
            cosine_at_most=False,
            whole=2.48,
            nearest_clause=ClauseMatch(clause="remind each customer", score=2.33),
        ),
    ),
)

_REPORT: Final = ApplicationReport(
    release="3eee06632362030cef5deb3b6266860c",
    surfaces={
        "clerk": SurfaceReport(
            version=_VERSION, catalog_digest=_DIGEST, tools=8, model="tool-minilm-l6-1@08987c9c5500ea2e"
        )
    },
    refused={},
)

MODELS: Final[Mapping[str, BaseModel]] = {
    "several_tools": _RANKED,
    "nothing_fits": _ABSTAINED,
    "several_queries": RankBatchReply(replies=(_RANKED, _ABSTAINED)),
    "explanation": _EXPLAINED,
    "served": ServedReport(applications={"shop": _REPORT}),
    "one_application": _REPORT,
    "alive": Alive(),
    "ready": Ready(),
    "ready_for_an_operator": Ready(applications={"shop": _REPORT}, unreadable={}),
}
"""What succeeds, by the name in ``#/components/examples``: FastAPI would drop every null of an example elsewhere."""

METRICS: Final = """\
# HELP toolsurface_served_tools Tools of a surface.
# TYPE toolsurface_served_tools gauge
toolsurface_served_tools{application="shop",surface="clerk"} 8.0
"""

_BODIES: Final = {
    "a field is out of bounds": Fault(field="limit", problem=OF_FIELD["less_than_equal"].format(le=MAX_LIMIT)),
    "a field is given twice": Fault(field="query", problem=TWICE),
    "the body is no JSON": Fault(field="body", problem=UNREADABLE["syntax"]),
    "the body is no JSON object": Fault(field="body", problem=NO_OBJECT),
}


def components() -> dict[str, Any]:
    """The ``examples`` of the document's components."""
    bare = {"ready"}  # the one that leaves out what it does not tell
    return {name: {"value": model.model_dump(mode="json", exclude_none=name in bare)} for name, model in MODELS.items()}


def refusals(code: Code) -> dict[int, dict[str, Any]]:
    """The ``examples`` of the answers that have this code, by status."""
    if code != "invalid_request":
        return {PROBLEMS[code][0]: {code: {"value": problem_content(code)}}}
    header = refused_content(400, [Fault(field=DEADLINE_HEADER, problem=DEADLINE_NEEDS)])
    return {400: {"a header is wrong": {"value": header}}}


def body_refusals() -> dict[str, Any]:
    """The ``examples`` of the 422 that a wrong body is answered with."""
    return {name: {"value": refused_content(422, [fault])} for name, fault in _BODIES.items()}
