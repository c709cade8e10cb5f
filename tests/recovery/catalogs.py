"""The application under recovery: its tools, and the catalogs of its successive deploys.

Every handler leaves a deed in the store before it reaches a checkpoint, so a process that is killed there has had its
effect on the world and has not told anyone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from surface import CallContext, Surface, Tool, tool
from tests.recovery.store import Deed, Store

Reach = Callable[[str], None]
"""Says that a point is reached, and stays there where the process is held at it."""

DEPLOYS = ("first", "others_changed", "refund_edited", "refund_removed", "refund_retyped", "both_edited")
"""What changed since the first deploy. `refund` and `invoice` are what the tests select."""


@dataclass(frozen=True, slots=True)
class Application:
    """Builds the surfaces of one deploy."""

    store: Store
    reach: Reach

    def surfaces(self, deploy: str) -> list[Surface]:
        """``desk`` with every tool, ``counter`` with some of the same."""
        if deploy not in DEPLOYS:
            raise ValueError(f"there is no deploy {deploy}")
        tools = {made.name: made for made in self._tools()}
        match deploy:
            case "others_changed":
                del tools["archive"]
                tools["charge"] = replace(tools["charge"], description="Charges a card, in the customer's currency.")
                tools["export"] = self._tool("export", "Exports the ledger.")
            case "refund_edited":
                tools["refund"] = _edited(tools["refund"])
            case "refund_removed":
                del tools["refund"]
            case "refund_retyped":
                tools["refund"] = self._retyped_refund()
            case "both_edited":
                tools |= {name: _edited(tools[name]) for name in ("refund", "invoice")}
        shared = [tools[name] for name in ("status", "audit", "look_up", "invoice")]
        return [
            Surface(key="desk", tools=list(tools.values()), always_on=["status"]),
            Surface(key="counter", tools=shared, always_on=["status"]),
        ]

    def _tools(self) -> list[Tool]:
        return [
            self._tool("status", "Says how things stand.", read_only=True),
            self._tool("audit", "Writes to the audit trail."),
            self._tool("look_up", "Looks a customer up.", read_only=True),
            self._tool("top_up", "Tops a balance up, once per key.", idempotent=True),
            self._tool("charge", "Charges a card."),
            self._tool("refund", "Refunds a charge."),
            self._tool("invoice", "Writes an invoice."),
            self._tool("archive", "Archives a customer."),
        ]

    def _tool(self, name: str, description: str, *, read_only: bool = False, idempotent: bool = False) -> Tool:
        def handler(call: CallContext) -> str:
            self._do(name, call)
            return f"{name} done"

        return tool(name=name, description=description, read_only=read_only, idempotent=idempotent)(handler)

    def _retyped_refund(self) -> Tool:
        def refund(call: CallContext, reason: str = "") -> str:
            """Refunds a charge."""
            self._do("refund", call)
            return f"refund done {reason}"

        return tool(refund)

    def _do(self, name: str, call: CallContext) -> None:
        self.store.note(Deed(what=name, call=f"{call.run_id}/{call.call_id}", key=call.idempotency_key))
        self.reach(f"inside:{name}")


def _edited(made: Tool) -> Tool:
    return replace(made, description=f"{made.description} With the new form.")
