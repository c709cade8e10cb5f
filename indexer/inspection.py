"""An index version as a person reads it, and as a program does. Pure text."""

from __future__ import annotations

from typing import Any

import numpy as np

from indexer.artefact import IndexManifest
from indexer.contents import Contents
from indexer.table import counted, short, table, weighed
from surface.catalog_rules import shown

_COMMONEST = 8


def inspection_lines(manifest: IndexManifest, contents: Contents, *, tools: int) -> list[str]:
    """For a person: what it was built from and by, its files, its commonest words and its first tools."""
    facts = [
        ("version", manifest.version),
        ("catalog", manifest.catalog_digest),
        ("model", f"{manifest.model}, {manifest.dimension} dimensions, revision {manifest.model_revision}"),
        ("recipe", f"{manifest.recipe}; words by {manifest.lexical_rule}"),
        ("tools", f"{manifest.tools:,}, of {counted(len(set(contents.texts)), 'distinct text')}"),
        ("words", f"{manifest.words:,} in {manifest.postings:,} places; most often {', '.join(_commonest(contents))}"),
    ]
    lines = [
        f"{manifest.application}/{manifest.surface}",
        *table(facts, numbers=()),
    ]
    if manifest.model_files:
        lines.append(f"the model's {counted(len(manifest.model_files), 'file')}, by sha256")
        lines += table([(name, short(sha256)) for name, sha256 in sorted(manifest.model_files.items())], numbers=())
    lines.append(f"files, {weighed(manifest.size)}")
    lines += table([(name, weighed(file.size), short(file.sha256)) for name, file in sorted(manifest.files.items())])
    if tools and contents.names:
        lines.append(f"the first {counted(min(tools, len(contents.names)), 'tool')}")
        lines += table(
            [
                (shown(name), short(digest))
                for name, digest in zip(contents.names[:tools], contents.digests, strict=False)
            ],
            numbers=(),
        )
    return lines


def inspection_json(manifest: IndexManifest, contents: Contents, *, tools: int) -> dict[str, Any]:
    """For a program: the manifest, the version it gives, and the first tools."""
    return {
        "version": manifest.version,
        "manifest": manifest.to_plain(),
        "bytes": manifest.size,
        "distinct_texts": len(set(contents.texts)),
        "tools": [
            {"name": name, "digest": digest}
            for name, digest in zip(contents.names[:tools], contents.digests, strict=False)
        ],
    }


def _commonest(contents: Contents) -> list[str]:
    counts = np.diff(contents.lexical.starts)
    order = np.lexsort((np.arange(len(counts)), -counts))[:_COMMONEST]
    return [shown(contents.lexical.words[at]) for at in order]
