"""One search: query → ranker → intersect with the catalog → admit under the ceilings → receipt.

A ranker proposes names; only names of this surface's catalog survive (SRC-3), and only as many as fit beside what is
there anyway (SRC-5). A search selects or answers honestly that it does not; it never widens, raises or blocks a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from surface.call import CallAnswer, Outcome
from surface.content import Text
from surface.evidence import Observer, SearchEvidence, report
from surface.guarded_ranking import GuardedRanking, Ranking
from surface.limits import Limits, admit, room_beside
from surface.mint import fitted
from surface.protocol import MAX_LIMIT
from surface.ranking import RankRequest
from surface.receipt import NEXT, Provenance, Reason, Receipt, ReceiptSigner, Status
from surface.registry import CheckedSurface

ASKED_PER_RESULT = 4
"""How many names a ranker is asked for per tool that may be selected: some will not fit."""
UNRANKED = Provenance(ranker="none")
"""The provenance of an answer that no ranker was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Answers searches for every run of an application."""

    application: str
    limits: Limits
    ranking: GuardedRanking
    signer: ReceiptSigner | None
    observer: Observer | None
    max_searches_per_run: int | None
    """None: no budget."""

    async def search(
        self,
        query: str,
        *,
        surface: CheckedSurface,
        run_id: str,
        call_id: str,
        present: Mapping[str, int],
        number: int,
    ) -> CallAnswer:
        """The answer to one search call.

        `present` holds what the step advertises beside any selection, name → schema bytes; `number` counts this
        run's searches, this one included.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        receipt = Receipt(
            status=Status.SELECTION_REFUSED,
            run_id=run_id,
            surface=surface.key,
            provenance=UNRANKED,
            next=NEXT[Status.SELECTION_REFUSED],
        )
        ranked = rejected = skipped = 0
        if len(query.encode("utf-8", "surrogatepass")) > self.limits.max_query_bytes:
            receipt = replace(receipt, reason=Reason.QUERY_TOO_LONG)
        elif self.max_searches_per_run is not None and number > self.max_searches_per_run:
            receipt = replace(receipt, reason=Reason.SEARCH_BUDGET)
        else:
            ranking = await self.ranking.rank(self._request(query, surface), surface.catalog)
            proposed = [each.name for each in ranking.reply.ranked]
            known = list(dict.fromkeys(name for name in proposed if name in surface.catalog))
            ranked, rejected = len(proposed), len(proposed) - len(known)
            receipt, skipped = self._select(receipt, ranking, known, surface, present)
        receipt = fitted(
            receipt,
            {name: surface.entry(name).description for name in receipt.selected},
            max_bytes=self.limits.max_result_bytes,
            signer=self.signer,
            call_id=call_id,
        )
        report(
            self.observer,
            SearchEvidence(
                application=self.application,
                surface=surface.key,
                run_id=run_id,
                status=receipt.status,
                reason=receipt.reason,
                ranker=receipt.provenance.ranker,
                index_version=receipt.provenance.index_version,
                degraded=receipt.provenance.degraded,
                ranked=ranked,
                rejected=rejected,
                skipped=skipped,
                selected=len(receipt.selected),
                result_bytes=receipt.size(),
                limits=self.limits,
                seconds=clock() - started,
            ),
        )
        return receipt_answer(receipt, call_id=call_id, tool=surface.search.name)

    def repair(
        self,
        tool: str,
        *,
        surface: CheckedSurface,
        run_id: str,
        call_id: str,
        present: Mapping[str, int],
        narrowed: bool,
    ) -> CallAnswer:
        """The answer to a call of a known but inactive tool: a receipt for exactly that tool (REP-1).

        Where the application does not let the tool through (`narrowed`), a receipt could not make it active.
        """
        room = room_beside(self.limits, present)
        fits = () if narrowed else admit([tool], {tool: surface.weight(tool)}, room).admitted
        refused = Reason.NARROWED if narrowed else Reason.CEILINGS
        status = Status.SEARCH_REQUIRED if fits else Status.SELECTION_REFUSED
        receipt = fitted(
            Receipt(
                status=status,
                run_id=run_id,
                surface=surface.key,
                provenance=UNRANKED,
                next=NEXT[status],
                selected=fits,
                digests=tuple(surface.catalog.tools[name].digest for name in fits),
                reason=None if fits else refused,
            ),
            {name: surface.entry(name).description for name in fits},
            max_bytes=self.limits.max_result_bytes,
            signer=self.signer,
            call_id=call_id,
        )
        return receipt_answer(receipt, call_id=call_id, tool=tool, outcome=Outcome.INACTIVE)

    def _request(self, query: str, surface: CheckedSurface) -> RankRequest:
        return RankRequest(
            application=self.application,
            surface=surface.key,
            query=query,
            limit=min(self.limits.max_results * ASKED_PER_RESULT, MAX_LIMIT),
            catalog_digest=surface.catalog.digest,
        )

    def _select(
        self,
        blank: Receipt,
        ranking: Ranking,
        known: list[str],
        surface: CheckedSurface,
        present: Mapping[str, int],
    ) -> tuple[Receipt, int]:
        """The receipt for a ranking, and how many known names did not fit."""
        admission = admit(
            [] if ranking.reply.abstained else known,
            {name: surface.weight(name) for name in known},
            room_beside(self.limits, present),
            at_most=self.limits.max_results,
        )
        status, reason = Status.SELECTED, None
        if not admission.admitted:
            status, reason = (
                (Status.SELECTION_REFUSED, Reason.CEILINGS)
                if admission.skipped
                else (Status.NO_MATCH, Reason.ABSTAINED)
            )
        return (
            replace(
                blank,
                status=status,
                reason=reason,
                next=NEXT[status],
                provenance=ranking.provenance,
                selected=admission.admitted,
                digests=tuple(surface.catalog.tools[name].digest for name in admission.admitted),
            ),
            len(admission.skipped),
        )


def receipt_answer(receipt: Receipt, *, call_id: str, tool: str, outcome: Outcome = Outcome.OK) -> CallAnswer:
    """A receipt as the ordinary result of a call (RCP-7)."""
    return CallAnswer(
        call_id=call_id, tool=tool, parts=(Text(text=receipt.to_json()),), outcome=outcome, receipt=receipt
    )
