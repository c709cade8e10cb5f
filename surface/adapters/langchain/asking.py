"""What is asked of a checkpointer, written once for sync and async graphs.

A generator asks: for the checkpoint of a config, which it is sent (None where it is not stored); for a pause in
seconds; or for a note in the pending writes of a checkpoint, under a task of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One pending write."""

    where: RunnableConfig
    channel: str
    value: str
    task: str
    """Its own alone: most checkpointers keep the first of two notes of one."""


Asking = Generator[RunnableConfig | Note | float, CheckpointTuple | None, T]


def told_by(saver: BaseCheckpointSaver[Any], asking: Asking[T]) -> T:
    """What an asking ends with, once a sync graph's checkpointer has told or taken what it asked for."""
    found = None
    while True:
        try:
            wanted = asking.send(found)
        except StopIteration as end:
            return cast("T", end.value)
        found = None
        if isinstance(wanted, Note):
            saver.put_writes(wanted.where, [(wanted.channel, wanted.value)], wanted.task)
        elif isinstance(wanted, float):
            time.sleep(wanted)
        else:
            found = saver.get_tuple(wanted)


async def atold_by(saver: BaseCheckpointSaver[Any], asking: Asking[T]) -> T:
    """The same, for an async graph."""
    found = None
    while True:
        try:
            wanted = asking.send(found)
        except StopIteration as end:
            return cast("T", end.value)
        found = None
        if isinstance(wanted, Note):
            await saver.aput_writes(wanted.where, [(wanted.channel, wanted.value)], wanted.task)
        elif isinstance(wanted, float):
            await asyncio.sleep(wanted)
        else:
            found = await saver.aget_tuple(wanted)
