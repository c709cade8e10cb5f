"""One waits for a service that hangs, and tells the others; time is counted by a clock that only the tests move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from indexer.adapters.waiting_once import REST_S, WaitingOnce
from indexer.errors import StoreError, StoreUnavailableError

HANGS_S = 5.0
WORDS = "as the service said"


class Service:
    """What is asked, and what it does about it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._once = WaitingOnce(clock=lambda: self.now)

    def asked(self, does: Callable[[], object] = lambda: None) -> str | None:
        """None where the service answered, else what whoever asked was told."""
        try:
            with self._once.asking():
                does()
        except StoreUnavailableError as error:
            return str(error)
        return None

    def hangs(self, seconds: float = HANGS_S) -> None:
        self.now += seconds
        raise StoreUnavailableError(WORDS)


@pytest.fixture
def service() -> Service:
    return Service()


def test_once_somebody_has_waited_in_vain_nobody_asks_before_a_rest_is_over(service: Service) -> None:
    assert service.asked() is None
    assert service.asked(service.hangs) == WORDS
    asked: list[str] = []
    assert {service.asked(lambda: asked.append("asked")) for _ in range(100)} == {WORDS}
    assert asked == []
    service.now += REST_S
    assert service.asked() is None
    assert service.asked() is None


def test_after_a_rest_one_finds_out_whether_it_hangs_and_all_others_are_told_at_once(service: Service) -> None:
    def still_hangs() -> None:
        assert service.asked() == WORDS
        service.hangs()

    assert service.asked(service.hangs) == WORDS
    service.now += REST_S
    assert service.asked(still_hangs) == WORDS
    assert service.asked() == WORDS
    service.now += REST_S
    others: list[str | None] = []
    assert service.asked(lambda: others.append(service.asked())) is None
    assert others == [WORDS]
    assert service.asked() is None


def test_a_failure_that_kept_nobody_waiting_speaks_for_itself_alone(service: Service) -> None:
    assert service.asked(lambda: service.hangs(0.1)) == WORDS
    assert service.asked() is None


@pytest.mark.parametrize("error", [StoreError("access denied"), FileNotFoundError(), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("seconds", [0.0, HANGS_S])
def test_whatever_else_asking_ends_with_is_an_answer(service: Service, error: BaseException, seconds: float) -> None:
    def refuses() -> None:
        service.now += seconds
        raise error

    assert service.asked(service.hangs) == WORDS
    service.now += REST_S
    with pytest.raises(type(error)):
        service.asked(refuses)
    assert service.asked() is None


def test_who_asked_before_it_was_away_and_is_answered_late_leaves_the_finding_out_to_others(service: Service) -> None:
    assert service.asked(lambda: service.asked(service.hangs)) is None
    assert service.asked() == WORDS
