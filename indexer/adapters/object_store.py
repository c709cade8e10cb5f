"""A store in an object store (S3, Google Cloud Storage, Azure Blob Storage) through obstore.

    <bucket>/<prefix>/applications/<application>/ledger.json
                                                /versions/<surface>/<version>/<place>/  manifest.json and the files

Rules kept here:

1. The ledger is made with a put that refuses to overwrite, and replaced with one that compares its ETag. A service
   that knows no such put cannot be a store; nothing here falls back to hoping.
2. Credentials, region and endpoint come from the provider's own variables (AWS_…, GOOGLE_…, AZURE_…), never from the
   URL.
3. Nobody is told of an activation; followers look again when their time has come. As they do, they wait for no answer
   long, and for a service that hangs once (`waiting_once.py`).
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import obstore
from obstore import exceptions as refusals
from obstore.store import ObjectStore, from_url

from indexer.adapters.waiting_once import WaitingOnce
from indexer.errors import StoreError, StoreUnavailableError, kind_of
from indexer.folder_name import folder_of, key_of
from indexer.placed_store import PlacedStore
from indexer.sealed_ledger import MAX_LEDGER_BYTES
from indexer.shelf import Address, FoundLedger

_RANGE_BYTES: Final = 16 * 1024 * 1024
"""The most that is asked for in one request, which has a minute."""
_REQUEST_S: Final = 60.0
_BUCKET: Final = re.compile(r"[A-Za-z0-9._-]+(/[^@?#:\\\s]*)?\Z")
_NO_RANGE: Final = re.compile(r"\brange\b", re.IGNORECASE)
_NO_BUCKET: Final = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectWaits:
    """How long a service is waited for, in seconds, and how often it is asked again where that may help."""

    connect_s: float = 5.0
    silence_s: float = _REQUEST_S
    """Without a byte of the answer."""
    tries: int = 4
    tries_s: float = 20.0
    """After the first try; what begins later is not begun."""


FOLLOWING_WAITS: Final = ObjectWaits(connect_s=2.0, silence_s=5.0, tries=1, tries_s=1.0)
"""Of who looks again anyway."""


def read_object_url(url: str) -> str:
    """The URL without a slash at its end; raises ValueError that quotes nothing of it but the scheme.

    What may be a credential is refused, not overlooked: the name of the store is told in messages.
    """
    scheme, _, rest = url.partition("://")
    if _BUCKET.match(rest) is None:
        raise ValueError(f"needs {scheme}://bucket[/prefix] and no more; credentials come from the environment")
    return url.rstrip("/")


def object_store(url: str, *, allow_http: bool = False) -> PlacedStore:
    """The store at a URL that `read_object_url` has read; raises `StoreError` where the provider's settings lack."""
    return placed_in(_opened(url, allow_http=allow_http, waits=ObjectWaits()), name=url)


def followed_object_store(url: str, *, allow_http: bool = False, waits: ObjectWaits = FOLLOWING_WAITS) -> PlacedStore:
    """The same for who only reads it, again and again, and so waits for a service that hangs once."""
    shelf = ObjectShelf(_opened(url, allow_http=allow_http, waits=waits), name=url, asking=WaitingOnce().asking)
    return _placed(shelf)


def placed_in(opened: ObjectStore, *, name: str) -> PlacedStore:
    """The store in an object store that is open already, with credentials of your own choice, say."""
    return _placed(ObjectShelf(opened, name=name))


def _placed(shelf: ObjectShelf) -> PlacedStore:
    return PlacedStore(shelf, new_place=lambda: secrets.token_hex(8))


def _opened(url: str, *, allow_http: bool, waits: ObjectWaits) -> ObjectStore:
    try:
        return from_url(
            url,
            client_options={
                "timeout": timedelta(seconds=_REQUEST_S),
                "connect_timeout": timedelta(seconds=waits.connect_s),
                "read_timeout": timedelta(seconds=waits.silence_s),
                "allow_http": allow_http,
            },
            retry_config={"max_retries": waits.tries, "retry_timeout": timedelta(seconds=waits.tries_s)},
        )
    except (refusals.BaseError, ValueError) as error:
        raise StoreError(f"{url}: cannot be opened ({kind_of(error)}); set the provider's variables") from None


class ObjectShelf:
    """Implements `indexer.shelf.Shelf`; threads may share it."""

    def __init__(
        self,
        opened: ObjectStore,
        *,
        name: str,
        asking: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`asking` is entered around each question; it may raise `StoreUnavailableError` instead of letting it pass."""
        self._opened = opened
        self._name = name
        self._asking = asking

    @property
    def name(self) -> str:
        """The URL."""
        return self._name

    def ledger_name(self, application: str) -> str:
        """The path of a ledger."""
        return f"{_home(application)}/ledger.json"

    def applications(self) -> tuple[str, ...]:
        """Every application that anything was ever written for."""
        with self._told():
            listed = obstore.list_with_delimiter(self._opened, "applications")
        names = (key_of(prefix.rstrip("/").rpartition("/")[2]) for prefix in listed["common_prefixes"])
        return tuple(name for name in names if name is not None)

    def read_ledger(self, application: str) -> FoundLedger:
        """The ledger and its ETag."""
        path = self.ledger_name(application)
        with self._told():
            try:
                found = obstore.get(self._opened, path)
            except FileNotFoundError as error:
                if _lacks_bucket(error):
                    raise
                return FoundLedger(data=None, tag=None)
            meta = found.meta
            if meta["size"] > MAX_LEDGER_BYTES:
                raise StoreError(f"{self._name}: {path}: is larger than {MAX_LEDGER_BYTES:,} bytes; delete it")
            tag = {name: meta.get(name) for name in ("e_tag", "version")}
            return FoundLedger(data=bytes(found.bytes()), tag={key: value for key, value in tag.items() if value})

    def has_ledger(self, application: str) -> bool:
        """Whether the object is there; of a bucket that is not there this asks in vain, as its answer has no body."""
        with self._told():
            try:
                obstore.head(self._opened, self.ledger_name(application))
            except FileNotFoundError:
                return False
        return True

    def replace_ledger(self, application: str, data: bytes, *, tag: Any) -> bool:
        """Conditional put; raises `StoreError` where the service knows none."""
        if tag == {}:
            raise StoreError(f"{self._name}: gives its objects no ETag; {_UNFIT}")
        with self._told():
            try:
                obstore.put(self._opened, self.ledger_name(application), data, mode=tag or "create")
            except (refusals.AlreadyExistsError, refusals.PreconditionError):
                return False
        return True

    def confirm(self, application: str, data: bytes) -> None:
        """Nothing: a put that was answered is there to stay, and the folder is the list."""

    def prepare(self, application: str, *, size: int) -> None:  # noqa: ARG002 - nobody says how much room there is
        """Makes an object of a name that nobody else uses, and deletes it and those that killed processes left."""
        folder = f"{_home(application)}/probes"
        with self._told():
            obstore.put(self._opened, f"{folder}/{secrets.token_hex(8)}", b"probe")
        self._delete_below(folder)

    def write(self, address: Address, files: Mapping[str, bytes]) -> None:
        """One object per file; large ones go up in parts."""
        for name, data in files.items():
            with self._told():
                obstore.put(self._opened, f"{_folder(address)}/{name}", data)

    def read(self, address: Address, name: str, *, ceiling: int) -> bytes | None:
        """A file, in ranges; a small one in one request."""
        path, wanted = f"{_folder(address)}/{name}", ceiling + 1
        with self._told():
            try:
                first = obstore.get(self._opened, path, options={"range": (0, min(wanted, _RANGE_BYTES))})
                parts = [bytes(first.bytes())]
                size = min(first.meta["size"], wanted)
                for at in range(_RANGE_BYTES, size, _RANGE_BYTES):
                    rest = obstore.get_range(self._opened, path, start=at, end=min(at + _RANGE_BYTES, size))
                    parts.append(bytes(rest))
            except FileNotFoundError:
                return None
            except refusals.GenericError as error:
                # Of an empty object no range can be asked for. A service that is away is not asked twice.
                if _NO_RANGE.search(str(error)) is None or obstore.head(self._opened, path)["size"]:
                    raise
                return b""
        return b"".join(parts)

    def delete(self, address: Address) -> None:
        """Deletes every object of a copy."""
        self._delete_below(_folder(address))

    def announce(self, application: str) -> None:
        """Nothing: an object store has nobody to tell."""

    def wait_for_change(self, timeout_s: float) -> None:
        """Waits all the time it was given."""
        time.sleep(timeout_s)

    def _delete_below(self, folder: str) -> None:
        with self._told():
            for found in obstore.list(self._opened, folder):
                self._deleted([one["path"] for one in found])

    def _deleted(self, paths: Sequence[str]) -> None:
        """Deletes objects; one that somebody else has deleted meanwhile is no error, whatever the service says."""
        try:
            obstore.delete(self._opened, paths)
        except FileNotFoundError as error:
            if _lacks_bucket(error):
                raise
            for path in paths if len(paths) > 1 else ():  # which one it was is not told
                self._deleted([path])

    @contextmanager
    def _told(self) -> Iterator[None]:
        with self._asking(), self._in_words():
            yield

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        # `from None`: what obstore says may quote an endpoint with its user and password.
        try:
            yield
        except FileNotFoundError:
            raise StoreError(f"{self._name}: the bucket is not there; make it, or mend the name") from None
        except (refusals.PermissionDeniedError, refusals.UnauthenticatedError) as error:
            raise StoreError(
                f"{self._name}: access denied ({type(error).__name__}); needs the right to list, get, put and delete"
            ) from None
        except (refusals.NotSupportedError, NotImplementedError):
            raise StoreError(f"{self._name}: cannot replace an object conditionally; {_UNFIT}") from None
        except (refusals.BaseError, OSError) as error:
            raise StoreUnavailableError(
                f"{self._name}: cannot be reached now ({kind_of(error)}); see that it runs and this machine may connect"
            ) from None


def _lacks_bucket(error: FileNotFoundError) -> bool:
    return any(sign in str(error) for sign in _NO_BUCKET)


_UNFIT = "it cannot be a store: two deploys could overwrite each other; use a directory, Redis or another object store"


def _home(application: str) -> str:
    return f"applications/{folder_of('application', application)}"


def _folder(address: Address) -> str:
    surface = folder_of("surface", address.surface)
    return f"{_home(address.application)}/versions/{surface}/{address.version}/{address.place}"
