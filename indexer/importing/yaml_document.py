"""YAML from outside, as the JSON value it stands for (YAML 1.2, the JSON-compatible part that OpenAPI allows).

The values are made here from PyYAML's events, so that no object is ever constructed from a tag and nothing recurses:

1. Plain scalars follow the core schema of YAML 1.2: `no` and `on` are text, and so is a date.
2. An alias counts as often as it stands: a file of a kilobyte cannot become a billion values.
3. Merge keys (`<<`), tags of other types, several documents and keys that stand twice are refused by line.

Not done here: what the value has to look like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from surface.catalog_rules import shown

MAX_YAML_BYTES = 64 * 1024 * 1024
"""PyYAML needs about half a second for each megabyte."""
MAX_YAML_DEPTH = 200
MAX_YAML_VALUES = 5_000_000
"""Counting each alias as all that it stands for; the largest public descriptions hold about a million."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class NotYamlError(ValueError):
    """The bytes are not one YAML document that stands for a JSON value; says the line, quotes at most a key."""


@dataclass(slots=True, kw_only=True)
class _Open:
    """A list or a mapping that is being read."""

    value: Any
    anchor: str | None
    size: int = 1
    """How many values it holds, itself included."""
    keyed: bool = False
    key: str = ""


@dataclass(slots=True, kw_only=True)
class _Reader:
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    documents: int = 0
    result: Any = None
    size: int = 0

    def take(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise _refused(event, "a second document begins; keep one to a file")
            case yaml.AliasEvent():
                if event.anchor not in self.anchors:
                    raise _refused(event, "an alias stands before or inside what it means")
                self.put(event, *self.anchors[event.anchor])
            case yaml.ScalarEvent():
                value = _scalar(event, is_key=self._wants_key())
                self._remember(event.anchor, value, 1)
                self.put(event, value, 1)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self.open(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                closed = self.stack.pop()
                self._remember(closed.anchor, closed.value, closed.size)
                self.put(event, closed.value, closed.size)
            case _:
                pass

    def open(self, event: Any) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _CORE + ("map" if mapping else "seq")):
            raise _refused(event, "a tag asks for a type of its own; leave it out")
        if self._wants_key():
            raise _refused(event, "a key is no text")
        if len(self.stack) >= MAX_YAML_DEPTH:
            raise _refused(event, f"nests deeper than {MAX_YAML_DEPTH} levels")
        self.stack.append(_Open(value={} if mapping else [], anchor=event.anchor))

    def put(self, event: Any, value: Any, size: int) -> None:
        if not self.stack:
            self.result = value
            return
        top = self.stack[-1]
        top.size += size
        self.size = max(self.size, top.size)
        if self.size > MAX_YAML_VALUES:
            raise _refused(event, f"holds more than {MAX_YAML_VALUES} values, each alias counted as what it means")
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.keyed:
            top.value[top.key] = value
            top.keyed = False
        else:
            top.key = _key(event, value, top.value)
            top.keyed = True

    def _wants_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and not self.stack[-1].keyed

    def _remember(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, size)


def parse_yaml(data: bytes) -> Any:
    """The JSON value that one YAML document stands for. Raises `NotYamlError`, and nothing else."""
    if len(data) > MAX_YAML_BYTES:
        raise NotYamlError(f"YAML of more than {MAX_YAML_BYTES} bytes; save it as JSON")
    reader = _Reader()
    try:
        for event in yaml.parse(data.decode("utf-8-sig"), Loader=_LOADER):
            reader.take(event)
    except UnicodeDecodeError as error:
        raise NotYamlError(f"not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        # Not chained, and not its own words: they quote the document.
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise NotYamlError(f"not YAML{line}") from None
    except (yaml.YAMLError, RecursionError):
        raise NotYamlError("not YAML (a control character, or nested too deep)") from None
    return reader.result


def _key(event: Any, value: Any, mapping: dict[str, Any]) -> str:
    if not isinstance(value, str):
        raise _refused(event, "a key is no text")
    if value == "<<":
        raise _refused(event, "merge keys (<<) are not YAML 1.2; write the fields out")
    if value in mapping:
        raise _refused(event, f"a mapping holds the key {shown(value)} twice; keep one")
    return value


def _scalar(event: yaml.ScalarEvent, *, is_key: bool) -> Any:
    text: str = event.value
    plain = event.implicit[0]
    if event.tag not in (None, "!", _CORE + "str") and not plain:
        raise _refused(event, "a tag asks for a type of its own; leave it out")
    # The key 200 of a YAML file is the key "200" of the JSON file that says the same.
    if is_key or not plain or event.tag == _CORE + "str":
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL_OR_HEX.fullmatch(text):
        return int(text, 0)
    if _NO_NUMBER.fullmatch(text) or (_FLOAT.fullmatch(text) and float(text) in (float("inf"), float("-inf"))):
        raise _refused(event, "a number is no finite one")
    return float(text) if _FLOAT.fullmatch(text) else text


def _refused(event: Any, problem: str) -> NotYamlError:
    return NotYamlError(f"line {event.start_mark.line + 1}: {problem}")
