"""Two applications to project: a shop with typed operations, and one that answers in every way a server can."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import BackgroundTasks, Cookie, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, StreamingResponse
from pydantic import BaseModel, Field, field_validator

MARKER = "zyzzyva"
"""A word that only content holds; no error and no log line may."""


class Line(BaseModel):
    sku: str = Field(min_length=2)
    count: int = Field(1, ge=1)
    parts: list[Line] = []

    @field_validator("sku")
    @classmethod
    def _not_reserved(cls, sku: str) -> str:
        if sku.startswith("XX"):
            raise ValueError(f"{sku} is reserved")
        return sku


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Cash(BaseModel):
    kind: Literal["cash"]


class Order(BaseModel):
    title: str
    lines: list[Line]
    payment: Annotated[Card | Cash, Field(discriminator="kind")] = Cash(kind="cash")


shop = FastAPI()


@shop.get("/items/export")
def export_items() -> list[str]:
    """Everything, for the backup."""
    return ["everything"]


@shop.get("/items/{item_id}")
def get_item(item_id: str) -> dict[str, str]:
    return {"item": item_id}


@shop.get("/items")
async def list_items(
    tag: Annotated[list[str], Query(description="Any of these.", default_factory=list)],
    limit: Annotated[int, Query(alias="max-items", ge=1)] = 10,
    *,
    exact: Annotated[bool, Query()] = False,
) -> dict[str, Any]:
    return {"tag": tag, "limit": limit, "exact": exact}


@shop.post("/orders", summary="Places an order.")
async def place_order(order: Order, *, urgent: Annotated[bool, Query()] = False) -> Order:
    return order


@shop.put("/orders/{number}")
def replace_order(number: int, order: Order) -> int:
    return number


@shop.patch("/orders/{number}")
def change_order(number: int) -> int:
    return number


@shop.delete("/orders/{number}", status_code=204)
def delete_order(number: int) -> None: ...


answering = FastAPI()


@answering.get("/headers")
def headers(request: Request) -> dict[str, str]:
    return dict(request.headers)


@answering.get("/login")
def login(response: Response) -> str:
    response.set_cookie("session", MARKER)
    return "welcome"


@answering.get("/whoami")
def whoami(session: Annotated[str | None, Cookie()] = None) -> dict[str, str | None]:
    return {"session": session}


@answering.get("/missing")
def missing() -> None:
    raise HTTPException(404, "There is no such order; list them first.")


@answering.get("/conflict")
def conflict() -> None:
    raise HTTPException(409, {"inner": MARKER})


@answering.get("/words")
def words() -> None:
    raise HTTPException(422, "The order is closed.")


@answering.get("/needs_header")
def needs_header(x_tenant: Annotated[str, Header()]) -> str:
    return x_tenant


@answering.get("/broken")
def broken() -> None:
    raise LookupError(MARKER)


@answering.get("/unavailable")
def unavailable() -> None:
    raise HTTPException(503, MARKER)


@answering.get("/nothing", status_code=204)
def nothing() -> None: ...


@answering.get("/null")
def null() -> None: ...


@answering.get("/text", response_class=PlainTextResponse)
def text() -> str:
    return "größer"


@answering.get("/problem")
def problem() -> Response:
    return JSONResponse({"a": [1]}, media_type="application/vnd.shop+json")


@answering.get("/lines")
def lines() -> Response:
    return Response('{"a":1}\n{"a":2}\n', media_type="application/x-ndjson")


@answering.get("/picture")
def picture() -> Response:
    return Response(b"\x89PNG\xff", media_type="image/png")


@answering.get("/refused_picture")
def refused_picture() -> Response:
    return Response(b"\x89PNG\xff", status_code=403, media_type="image/png")


@answering.get("/moved")
def moved() -> Response:
    return RedirectResponse("https://elsewhere.example/")


@answering.get("/half")
def half() -> Response:
    async def body() -> AsyncIterator[bytes]:
        yield b"first half"
        raise LookupError(MARKER)

    return StreamingResponse(body(), media_type="text/plain")


@answering.get("/afterwards")
def afterwards(later: BackgroundTasks) -> str:
    def fail() -> None:
        raise LookupError(MARKER)

    later.add_task(fail)
    return "accepted"
