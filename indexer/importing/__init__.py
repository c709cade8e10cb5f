"""Files of other formats → a catalog: application exports, MCP `tools/list` results, OpenAPI, provider tool arrays.

    import_catalog   the whole of it, over bytes: files, what they brought, what was renamed and refused
    SourceFile       one file's name, bytes and namespace
    FORMATS          what can be read; each file tells its own, unless the caller does

One reader for each format, all pure. Static files only: nothing asks a server or follows a reference out of a file.
"""

from indexer.importing.importing import Imported, ImportedFile, SchemaCheck, import_catalog
from indexer.importing.renaming import Renamed
from indexer.importing.source import FORMATS, Format, SourceFile

__all__ = [
    "FORMATS",
    "Format",
    "Imported",
    "ImportedFile",
    "Renamed",
    "SchemaCheck",
    "SourceFile",
    "import_catalog",
]
