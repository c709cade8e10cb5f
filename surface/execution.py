"""Direct typed execution of one call, in the order of MNT-2.

    before_call → validation → fence → lifecycle.before → handler → output validation → lifecycle.after → presenter
    → after_call

Every failure becomes a typed tool error for the model (MNT-3). Nothing of an unexpected exception reaches it; the
application sees the exception as raised through `Hooks.on_error`. Not decided here: whether a call may run at all.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic_core import to_jsonable_python

from surface.call import CallAnswer, CallContext, Outcome, settle
from surface.catalog import CatalogTool
from surface.content import Json, Part, Text, checked
from surface.deadline import OutOfTimeError, cancellations, is_being_cancelled, within
from surface.errors import ToolError
from surface.failure import failure_parts
from surface.hooks import CallReport, Fence, FencedError, Hooks, Refused
from surface.input_model import InputRejectedError, Violation
from surface.transcript import UNPARSABLE
from surface.worker_thread import run_aside

T = TypeVar("T")
_log = logging.getLogger("toolsurface")
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_SHOWN_VIOLATIONS = 20


@dataclass(slots=True)
class _Arguments:
    """The raw arguments of one call, as written and as `before_call` left them."""

    original: Any
    effective: Any

    @staticmethod
    def reported(arguments: Any) -> Any:
        """What a hook may do with as it likes: the messages are the run's only state, and must stay as they are."""
        try:
            return deepcopy(arguments)
        except RecursionError:
            return UNPARSABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed(Generic[T]):
    """What a framework made of a call that it ran itself; passed on as it is."""

    value: T
    outcome: str = Outcome.OK
    """For the evidence: `Outcome.OK`, or a code of the framework's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """Runs calls of a catalog's tools."""

    hooks: Hooks
    fence: Fence | None

    async def execute(self, made: CatalogTool, arguments: Any, call: CallContext) -> CallAnswer:
        """Runs one call and answers it; never raises but for the cancellation of its own task."""
        clock = asyncio.get_running_loop().time
        started = clock()
        raw = _Arguments(original=arguments, effective=arguments)
        outcome: str = Outcome.INTERNAL
        parts: tuple[Part, ...] = ()
        since = 0
        try:
            since = await cancellations()
            parts = await self._run(made, raw, call)
            outcome = Outcome.OK
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            # Whatever a handler raises becomes a typed error; only the end of our own task goes on.
            if is_being_cancelled(since):
                outcome = Outcome.CANCELLED
                raise
            await self._tell(self.hooks.on_error, error, call, name="on_error", since=since)
            outcome, parts = _failure(error)
            if outcome == Outcome.INTERNAL:
                _log.error("tool %s failed: %s", call.tool, type(error).__name__)
        finally:
            await self._report(raw, call, outcome, clock() - started, since)
        return CallAnswer(call_id=call.call_id, tool=call.tool, parts=parts, outcome=outcome)

    async def pass_on(
        self, execute: Callable[[CallContext], Awaitable[Passed[T]]], arguments: Any, call: CallContext
    ) -> CallAnswer | Passed[T]:
        """Lets a framework run one call of a tool of its own, behind the fence; raises what `execute` raises.

        Of the hooks, `on_error` and `after_call` are told; the arguments are the framework's to validate.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        outcome: str = Outcome.INTERNAL
        since = 0
        try:
            since = await cancellations()
            if self.fence is not None and not await settle(self.fence(call)):
                await self._tell(self.hooks.on_error, FencedError(), call, name="on_error", since=since)
                outcome, parts = _failure(FencedError())
                return CallAnswer(call_id=call.call_id, tool=call.tool, parts=parts, outcome=outcome)
            passed = await execute(call)
            outcome = passed.outcome
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if is_being_cancelled(since):
                outcome = Outcome.CANCELLED
            else:
                await self._tell(self.hooks.on_error, error, call, name="on_error", since=since)
            raise
        finally:
            raw = _Arguments(original=arguments, effective=arguments)
            await self._report(raw, call, outcome, clock() - started, since)
        return passed

    async def _report(self, raw: _Arguments, call: CallContext, outcome: str, seconds: float, since: int) -> None:
        report = CallReport(
            call=call,
            outcome=outcome,
            seconds=seconds,
            original_arguments=raw.reported(raw.original),
            effective_arguments=raw.reported(raw.effective),
        )
        await self._tell(self.hooks.after_call, report, name="after_call", since=since)

    async def _run(self, made: CatalogTool, raw: _Arguments, call: CallContext) -> tuple[Part, ...]:
        tool = made.tool
        try:
            raw.effective = deepcopy(raw.original)
        except RecursionError:
            raise InputRejectedError([Violation(path="", problem="nest too deep")]) from None
        if self.hooks.before_call is not None:
            raw.effective = await settle(self.hooks.before_call(raw.effective, call))
        if raw.effective is UNPARSABLE:
            raise InputRejectedError([Violation(path="", problem="must be valid JSON")])
        # An input model may hand on what it was given, and a handler may edit it.
        value = tool.input.validate(deepcopy(raw.effective))
        if self.fence is not None and not await settle(self.fence(call)):
            raise FencedError
        lifecycle = tool.lifecycle
        if lifecycle is not None and lifecycle.before is not None:
            await settle(lifecycle.before(value, call))
        output = await within(tool.timeout, _handle(tool.handler, value, call))
        if made.output is not None:
            output = made.output.validate_python(output)
        if lifecycle is not None and lifecycle.after is not None:
            output = await settle(lifecycle.after(output, call))
        return _present(made, output)

    async def _tell(
        self, hook: Callable[..., Awaitable[None] | None] | None, *told: Any, name: str, since: int
    ) -> None:
        """Calls a hook whose failure must not change the call; the class of the failure is all that is logged."""
        if hook is None:
            return
        try:
            await settle(hook(*told))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if is_being_cancelled(since):
                raise
            _log.error("the %s hook raised %s", name, type(error).__name__)


async def _handle(handler: Callable[..., Any], value: Any, call: CallContext) -> Any:
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__):
        return await handler(value, call)
    return await settle(await run_aside(lambda: handler(value, call)))


def _present(made: CatalogTool, output: Any) -> tuple[Part, ...]:
    presenter = made.tool.presenter
    if presenter is None:
        return (checked(Text(text=output) if isinstance(output, str) else Json(value=_json_value(made, output))),)
    parts = tuple(checked(part) for part in presenter.present(output))
    undeclared = sorted({part.kind for part in parts} - presenter.kinds)
    if undeclared:
        raise TypeError(f"the presenter made parts that it does not declare: {', '.join(undeclared)}")
    return parts


def _json_value(made: CatalogTool, output: Any) -> Any:
    if made.output is not None:
        output = made.output.dump_python(output, mode="json", by_alias=True, warnings=False)
    return to_jsonable_python(output, inf_nan_mode="null")


def _text(error: Exception, name: str) -> str | None:
    """A text that an error carries; an application's subclass may have forgotten to set it."""
    try:
        value = getattr(error, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class
        return None
    return value if isinstance(value, str) else None


def _failure(error: BaseException) -> tuple[str, tuple[Part, ...]]:
    code, message, hint = _told(error)
    return code, failure_parts(code, message, hint)


def _told(error: BaseException) -> tuple[str, str, str | None]:
    """What a model is told of an exception: code, message, hint (MNT-3)."""
    match error:
        case InputRejectedError():
            shown = "; ".join(map(str, error.violations[:_SHOWN_VIOLATIONS]))
            return Outcome.VALIDATION_ERROR, shown, "Correct the arguments and call again."
        case FencedError():
            return Outcome.FENCED, "This run no longer owns its conversation; nothing was done.", None
        case Refused():
            return Outcome.REFUSED, _text(error, "message") or "This call was refused.", None
        case OutOfTimeError():
            return Outcome.TIMEOUT, "The tool took too long; it may still have had an effect.", None
        case asyncio.CancelledError():
            return Outcome.CANCELLED, "The call was cancelled; it may have had an effect.", None
        case ToolError():
            # An application may have put anything into its error; only text is passed on.
            code, message, hint = _text(error, "code"), _text(error, "message"), _text(error, "hint")
            return code if code and _CODE.fullmatch(code) else "TOOL_ERROR", message or "The tool failed.", hint
        case _:
            return Outcome.INTERNAL, "The tool failed for a reason of its own.", None
