"""No ranker breaks a search, whatever it does: the local one answers within the deadline (SRC-3, SRC-8)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from surface import LexicalRanker, RankedName, Ranker, RankerUnavailable, RankReply, RankRequest
from surface.guarded_ranking import GuardedRanking, Ranking
from tests.surface.rankers import ScriptedRanker, proposing, raising, ranking
from tests.surface.shop import make_surface, make_tool

SURFACE = make_surface([make_tool("invoices_list", "List invoices"), make_tool("file_delete", "Delete a file")])
REQUEST = RankRequest(
    application="shop", surface="reader", query="list invoices", limit=5, catalog_digest=SURFACE.catalog.digest
)
SECRET = "hunter2"  # noqa: S105 - planted to be looked for


async def ranked_by(ranker: Ranker, *, deadline: float = 10.0) -> Ranking:
    guarded = GuardedRanking(ranker=ranker, fallback=LexicalRanker([SURFACE]), deadline=deadline)
    return await guarded.rank(REQUEST, SURFACE.catalog)


def names(made: Ranking) -> list[str]:
    return [each.name for each in made.reply.ranked]


def assert_fell_back(made: Ranking, code: str) -> None:
    assert names(made) == ["invoices_list"]
    assert made.provenance.ranker == "lexical"
    assert made.provenance.degraded == code


@pytest.mark.rule("SRC-8")
async def test_a_ranker_that_answers_well_is_believed() -> None:
    made = await ranked_by(proposing("file_delete", "invoices_list"))
    assert names(made) == ["file_delete", "invoices_list"]
    assert made.provenance.ranker == "scripted"
    assert made.provenance.index_version == "index-1"
    assert made.provenance.degraded is None


@pytest.mark.rule("SRC-8")
async def test_a_ranker_is_asked_once() -> None:
    ranker = raising(RankerUnavailable("unreachable"))
    await ranked_by(ranker)
    assert ranker.asked == [REQUEST]


@pytest.mark.rule("SRC-8")
async def test_a_ranker_that_is_unavailable_says_why_in_the_provenance() -> None:
    assert_fell_back(await ranked_by(raising(RankerUnavailable("breaker_open"))), "breaker_open")


@pytest.mark.rule("SRC-8", "EVD-2")
@pytest.mark.parametrize(
    "code", [f"could not reach {SECRET}", "", "TIMEOUT", "a" * 65, "new\nline", 503, None, [SECRET]], ids=repr
)
async def test_a_code_that_is_no_code_becomes_unavailable(code: Any) -> None:
    assert_fell_back(await ranked_by(raising(RankerUnavailable(code))), "unavailable")


class CarelessUnavailable(RankerUnavailable):
    """A subclass that forgot to give its code."""

    def __init__(self) -> None:
        Exception.__init__(self)


@pytest.mark.rule("SRC-8")
async def test_an_unavailability_without_a_code_is_unavailable() -> None:
    assert_fell_back(await ranked_by(raising(CarelessUnavailable())), "unavailable")


class OddError(BaseException):
    """What a foreign library may raise past `except Exception`, as PyO3 does when it panics."""


@pytest.mark.rule("SRC-8")
@pytest.mark.parametrize(
    "raised",
    [
        RuntimeError(SECRET),
        TimeoutError(SECRET),
        StopIteration(SECRET),
        RecursionError(SECRET),
        asyncio.CancelledError(SECRET),
        GeneratorExit(SECRET),
        OddError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_ranker_that_raises_has_failed(raised: BaseException) -> None:
    assert_fell_back(await ranked_by(raising(raised)), "ranker_failed")


class SyncRanker:
    """A ranker that forgot to be async."""

    id = "sync"

    def rank(self, request: RankRequest) -> RankReply:
        return ranking(request, "file_delete")


class NoRanker:
    """A ranker without a way to be asked."""

    id = "none"


@pytest.mark.rule("SRC-8")
@pytest.mark.parametrize("ranker", [SyncRanker(), NoRanker()], ids=["sync", "none"])
async def test_an_object_that_is_no_ranker_has_failed(ranker: Any) -> None:
    assert_fell_back(await ranked_by(ranker), "ranker_failed")


class Dumps:
    """Not a reply, but it has the method of one."""

    def __init__(self, dumped: Any) -> None:
        self._dumped = dumped

    def model_dump(self) -> Any:
        if isinstance(self._dumped, BaseException):
            raise self._dumped
        return self._dumped


def unchecked(**fields: Any) -> RankReply:
    """A reply that went past its own checks."""
    good = ranking(REQUEST, "file_delete")
    return RankReply.model_construct(**{**{name: getattr(good, name) for name in RankReply.model_fields}, **fields})


def scored(name: Any, score: Any) -> RankedName:
    return RankedName.model_construct(name=name, score=score)


def _nested() -> Any:
    deep: Any = ()
    for _ in range(5_000):
        deep = (deep,)
    return deep


GARBAGE: Mapping[str, Any] = {
    "nothing": None,
    "a number": 7,
    "bytes": b"\xff",
    "names": ["file_delete"],
    "a mapping": {"ranked": ["file_delete"]},
    "a class": RankReply,
    "a dump of nothing": Dumps(None),
    "a dump of other fields": Dumps({"surface": "reader", "secret": SECRET}),
    "a dump that raises": Dumps(RuntimeError(SECRET)),
    "a dump that looks up": Dumps(KeyError(SECRET)),
    "a score that is no number": unchecked(ranked=(scored("file_delete", float("nan")),)),
    "an infinite score": unchecked(ranked=(scored("file_delete", float("inf")),)),
    "an empty name": unchecked(ranked=(scored("", 1.0),)),
    "a giant name": unchecked(ranked=(scored("x" * 2_000, 1.0),)),
    "a name of another type": unchecked(ranked=(scored(7, 1.0),)),
    "a score of another type": unchecked(ranked=(scored("file_delete", SECRET),)),
    "a ranking of another type": unchecked(ranked=SECRET),
    "a ranking that nests": unchecked(ranked=_nested()),
    "no digest": unchecked(catalog_digest=SECRET),
    "an index version that is a sentence": unchecked(index_version=f"built by {SECRET}"),
    "a degradation that is a sentence": unchecked(degraded=f"because of {SECRET}"),
    "a version from the future": unchecked(version=2),
    "a surface of another type": unchecked(surface=7),
}


@pytest.mark.rule("SRC-8", "EVD-2")
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_is_a_malformed_reply_and_no_part_of_it_is_logged(
    garbage: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert_fell_back(await ranked_by(ScriptedRanker(lambda request: garbage)), "malformed_reply")
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.rule("SRC-8")
async def test_a_subclass_of_a_reply_with_more_fields_is_malformed() -> None:
    class Wider(RankReply):
        widens: str = "file_delete"

    wider = Wider(**ranking(REQUEST, "file_delete").model_dump())
    assert_fell_back(await ranked_by(ScriptedRanker(lambda request: wider)), "malformed_reply")


@pytest.mark.rule("SRC-3", "SRC-8")
async def test_an_answer_about_another_surface_is_not_used() -> None:
    assert_fell_back(await ranked_by(proposing("file_delete", surface="writer")), "wrong_surface")


@pytest.mark.rule("SRC-3", "SRC-8")
async def test_an_answer_of_only_unknown_names_is_not_used() -> None:
    assert_fell_back(await ranked_by(proposing("users_delete", "files_delete")), "unknown_names")


@pytest.mark.rule("SRC-7")
async def test_an_abstention_is_an_answer() -> None:
    made = await ranked_by(proposing(abstained=True))
    assert made.reply.abstained
    assert made.provenance.ranker == "scripted"
    assert made.provenance.degraded is None


@pytest.mark.rule("SRC-8")
async def test_a_ranking_of_another_catalog_version_is_used_and_marked() -> None:
    made = await ranked_by(proposing("file_delete", catalog_digest="1" * 32))
    assert names(made) == ["file_delete"]
    assert made.provenance.ranker == "scripted"
    assert made.provenance.degraded == "stale_index"


@pytest.mark.rule("SRC-8")
async def test_a_ranker_that_says_it_is_degraded_is_passed_on() -> None:
    made = await ranked_by(proposing("file_delete", degraded="lexical_only"))
    assert names(made) == ["file_delete"]
    assert made.provenance.degraded == "lexical_only"


@pytest.mark.rule("SRC-8")
async def test_a_slow_ranker_is_cancelled_and_the_local_one_answers_within_the_deadline() -> None:
    cancelled = asyncio.Event()

    async def slow(request: RankRequest) -> RankReply:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ranking(request)

    clock = asyncio.get_running_loop().time
    started = clock()
    made = await ranked_by(ScriptedRanker(slow), deadline=0.25)
    assert clock() - started < 0.25 + 0.5  # the deadline, and a busy machine's share
    assert_fell_back(made, "timeout")
    await asyncio.wait_for(cancelled.wait(), 5)


@pytest.mark.rule("SRC-8")
async def test_a_ranker_that_swallows_its_cancellation_is_left_behind() -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(request: RankRequest) -> RankReply:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return ranking(request, "file_delete")

    made = await asyncio.wait_for(ranked_by(ScriptedRanker(stubborn), deadline=0.02), 5)
    assert_fell_back(made, "timeout")
    assert not ended.is_set()
    may_end.set()
    await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.rule("SRC-8")
async def test_a_real_connection_that_never_answers_is_a_timeout() -> None:
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

        async def over_the_wire(request: RankRequest) -> RankReply:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(request.query.encode())
                return RankReply.model_validate_json(await reader.read())
            finally:
                writer.close()

        assert_fell_back(await ranked_by(ScriptedRanker(over_the_wire), deadline=0.1), "timeout")
        await asyncio.wait_for(hung_up.wait(), 5)


@pytest.mark.rule("SRC-8")
async def test_a_port_that_nobody_listens_on_is_a_failed_ranker() -> None:
    async with await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

    async def over_the_wire(request: RankRequest) -> RankReply:
        await asyncio.open_connection("127.0.0.1", port)
        return ranking(request)

    assert_fell_back(await ranked_by(ScriptedRanker(over_the_wire)), "ranker_failed")


@pytest.mark.rule("SRC-8")
async def test_cancelling_the_run_cancels_the_search_instead_of_falling_back() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(request: RankRequest) -> RankReply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ranking(request)

    searching = asyncio.ensure_future(ranked_by(ScriptedRanker(slow)))
    await begun.wait()
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    await asyncio.wait_for(cancelled.wait(), 5)


class Renaming:
    """A ranker whose id becomes text of the query once it has been asked."""

    def __init__(self) -> None:
        self.id = "honest"

    async def rank(self, request: RankRequest) -> RankReply:
        self.id = request.query
        return ranking(request, "file_delete")


@pytest.mark.rule("EVD-2")
async def test_the_id_of_a_ranker_is_the_one_it_had_when_it_was_checked() -> None:
    assert (await ranked_by(Renaming())).provenance.ranker == "honest"
