#!/usr/bin/env python3
"""Access tokens from the Keyturn broker, for Python programs. Standard library only, Python 3.9 or newer.

Copy this file beside your program, or install the folder it is in with pip. It speaks the wire that docs/reference/wire-protocol.md describes, on Linux and macOS.

    import keyturn

    keyturn.pair("notes-script", on_code=print)        # once, when a user asked for it

    with keyturn.connect("notes-script") as broker:
        token = broker.get_token("https://notes.example/mcp", interaction="allow")
        headers = {"Authorization": token.header}      # ask before each call, and keep no token

A token may be bound to a key that the broker keeps (DPoP, `token.is_bound`). Then each request needs its own headers:

        headers = broker.headers(token, "POST", url)   # and nonce=: the DPoP-Nonce of the server's last answer

What a refusal asks for is in its class and its `reason` (docs/reference/errors.md):

    except keyturn.PersonNeeded as error:              # allow, sign in or unlock; `hint` says how
    except keyturn.Unpaired:                           # keep the key file; only a user pairs again
    except keyturn.Unreachable:                        # no broker runs
    except keyturn.Untrusted:                          # what listens there could not be trusted
    except keyturn.KeyturnError as error:              # all of them

On a terminal:

    python3 keyturn.py pair notes-script
    python3 keyturn.py token notes-script https://notes.example/mcp
    headers=$(python3 keyturn.py token notes-script https://notes.example/mcp --dpop GET) &&
        echo "$headers" | curl -H @- https://notes.example/mcp

Invariants: nothing but a hello or the request to pair is said to a broker that has not proved itself, and none
of its words is repeated. A key file that exists is never replaced, and one that others can read is never used. No
error and no `repr` holds a key or a token.
"""

from __future__ import annotations

import argparse
import base64
import errno
import hashlib
import hmac
import json
import os
import re
import secrets
import socket
import stat
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

__all__ = [
    "Broker", "Identity", "KeyturnError", "PersonNeeded", "Rejection", "Token", "Unpaired", "Unreachable",
    "Untrusted", "connect", "pair",
]  # fmt: skip

VERSION = 1
MAX_SOCKET_PATH = 103  # bytes
HANDSHAKE_FRAME, FRAME = 16 * 1024, 1024 * 1024  # bytes
HANDSHAKE_TIMEOUT = 30.0  # for each answer: the broker's keychain may wait for a user
PAIRING_TIMEOUT = 150.0  # the user has two minutes, which the broker counts
AFTER_STOP, AFTER_LOSS = 15.0, 10.0  # seconds to look for the next broker
MAX_TRIES = 3  # a request that three brokers died of is not sent to a fourth
POLL = 0.05
MAX_WAIT = 86_400  # seconds that a refusal may ask for

Environment = Mapping[str, str]


# --- Errors


class KeyturnError(Exception):
    """A refusal. Branch on `reason`; show the text and `hint` to the user; wait `retry_after` seconds."""

    def __init__(
        self,
        reason: str,
        message: str,
        hint: Optional[str] = None,
        rule: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.reason, self.hint, self.rule, self.retry_after = reason, hint, rule, retry_after


class Unpaired(KeyturnError):
    """The broker does not know this app, or there is no key file."""


class Unreachable(KeyturnError):
    """No broker runs, it went away, or it is being replaced."""


class Untrusted(KeyturnError):
    """The socket, a file, or what answers there is not as it must be."""


class PersonNeeded(KeyturnError):
    """Somebody has to allow, sign in or unlock first."""


_CLASSES = {
    "unpaired": Unpaired,
    "broker_unreachable": Unreachable,
    "broker_stopping": Unreachable,
    "socket_unsafe": Untrusted,
    "handshake_failed": Untrusted,
    "file_unreadable": Untrusted,
    "consent_required": PersonNeeded,
    "consent_pending": PersonNeeded,
    "login_required": PersonNeeded,
    "login_pending": PersonNeeded,
    "locked": PersonNeeded,
    "paused": PersonNeeded,
}


_UNPROVEN_HINTS = {
    "unpaired": "The key was kept. Only the user starts a new pairing.",
    "locked": "Unlock the vault: keyturn unlock",
    "pairing_denied": "Nobody allowed it. Ask again when you are at the machine.",
    "version_unsupported": "Broker and app speak different versions of the wire: update the older.",
}


def _error(reason: str, message: str, **more: Any) -> KeyturnError:
    return _CLASSES.get(reason, KeyturnError)(reason, message, **more)


def _refusal(body: Any, proven: bool) -> KeyturnError:
    """The broker's error object as an exception. Its words are repeated only once it has proved itself."""
    body = body if isinstance(body, dict) else {}
    data = body.get("data") if isinstance(body.get("data"), dict) else {}
    reason = data.get("reason")
    if not isinstance(reason, str) or not re.fullmatch(r"[a-z_]{1,64}", reason):
        reason = "internal"
    wait = data.get("retryAfter")
    # Bounded: a number of a thousand digits is JSON too.
    is_wait = isinstance(wait, (int, float)) and not isinstance(wait, bool) and 0 <= wait <= MAX_WAIT
    retry_after = float(wait) if is_wait else None
    if not proven:
        message, hint = f"the broker refused the connection: {reason}", _UNPROVEN_HINTS.get(reason)
        return _error(reason, message, hint=hint, retry_after=retry_after)
    message = _shown(body.get("message")) or "the broker refused without a reason"
    hint, rule = _shown(data.get("hint")), _shown(data.get("rule"))
    return _error(reason, message, hint=hint, rule=rule, retry_after=retry_after)


def _shown(text: Any) -> Optional[str]:
    """Text for a terminal: one line, bounded."""
    if not isinstance(text, str):
        return None
    return "".join(letter if letter.isprintable() else " " for letter in text[:2000])


# --- What there is to know


@dataclass(frozen=True)
class Identity:
    """Who a paired app is: what its key file holds."""

    app_id: str
    key: str = field(repr=False)
    broker_id: str


@dataclass(frozen=True)
class Token:
    """An access token. `expires_at`: seconds since 1970. `token_id` names it to `reject`.

    `expires_at` and `expires_in` are None if the server stated no lifetime: use the token until it is rejected.
    """

    access_token: str = field(repr=False)
    token_type: str
    expires_at: Optional[int]
    expires_in: Optional[int]
    scope: str
    resource: str
    account: str
    issuer: str
    token_id: str

    @property
    def is_bound(self) -> bool:
        """True for a token that is worth nothing without a proof for each request (RFC 9449): see `Broker.headers`."""
        return self.token_type.lower() == "dpop"

    @property
    def header(self) -> str:
        """The value of the Authorization header."""
        return f"{'DPoP' if self.is_bound else 'Bearer'} {self.access_token}"


@dataclass(frozen=True)
class Rejection:
    """What became of a rejected token. `rejected`: the next `get_token` brings another one."""

    rejected: bool
    retry_after: Optional[float] = None


def _token(result: Any) -> Token:
    texts = ("access_token", "token_type", "scope", "resource", "account", "issuer", "tokenId")
    whole = isinstance(result, dict) and all(isinstance(result.get(name), str) for name in texts)
    times = ("expires_at", "expires_in")
    if not whole or not all(name not in result or type(result[name]) is int for name in times):
        raise _error("frame_invalid", "the broker's answer is no token")
    # RFC 6749 section 7.1: a client must not use a token type that it does not understand.
    known = result["token_type"].lower() in ("bearer", "dpop")
    if not known or not re.fullmatch(r"[\x21-\x7e]+", result["access_token"]):
        raise _error("token_invalid", "the token is of an unknown type")
    fields = {name: result.get(name) for name in (*texts[:-1], *times)}
    return Token(token_id=result["tokenId"], **fields)


# --- Where things are


def _forwarded(env: Environment) -> Optional[Tuple[str, str]]:
    """The name (LABEL or LABEL@MARK) and the socket of the forward that KEYTURN_SOCKET names, if it is set."""
    path = env.get("KEYTURN_SOCKET")
    if not path:
        return None
    name = os.path.basename(path)[: -len(".sock")]
    is_usable = os.path.isabs(path) and path.endswith(".sock") and "\0" not in path
    if is_usable and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}(@[0-9a-f]{8})?", name):
        return name, path
    hint = "Set it as `keyturn forward open` prints it, or unset it."
    raise _error("invalid_request", "KEYTURN_SOCKET is no forward's socket", hint=hint)


def _config_folder(env: Environment) -> Path:
    """A forward's apps have keys of their own."""
    config = _home_folders(env)[0]
    forwarded = _forwarded(env)
    return config / "forwarded" / forwarded[0] if forwarded else config


def _home_folders(env: Environment) -> Tuple[Path, Path, Path]:
    """The folders of configuration, of state and of the socket."""
    if env.get("KEYTURN_HOME"):
        home = Path(env["KEYTURN_HOME"])
        if not home.is_absolute():
            raise _error("invalid_request", "KEYTURN_HOME is no absolute path", hint="Set it to an absolute path.")
        return home / "config", home / "state", home / "run"
    user = Path(env["HOME"]) if "HOME" in env else Path.home()
    if not user.is_absolute():
        raise _error("invalid_request", "HOME is no absolute path", hint="Set HOME, or KEYTURN_HOME.")
    if sys.platform == "darwin":
        base = user / "Library" / "Application Support" / "Keyturn"
        return base, base / "state", base / "run"

    def folder(name: str, default: Optional[Path]) -> Optional[Path]:
        value = env.get(name, "")
        return Path(value) if os.path.isabs(value) else default

    config = folder("XDG_CONFIG_HOME", user / ".config")
    state = folder("XDG_STATE_HOME", user / ".local" / "state")
    runtime = folder("XDG_RUNTIME_DIR", None)
    assert config and state
    own = state / "keyturn"
    return config / "keyturn", own, runtime / "keyturn" if runtime else own / "run"


def _socket_paths(env: Environment) -> Tuple[str, ...]:
    """Where the socket may be: where a broker of this home recorded it, then where this environment says."""
    forwarded = _forwarded(env)
    if forwarded:
        return (forwarded[1],)
    _, state, run = _home_folders(env)
    recorded = _recorded(state / "broker.path")
    computed = [run / "broker.sock"] + ([] if env.get("KEYTURN_HOME") else [state / "run" / "broker.sock"])
    paths = ([recorded] if recorded else []) + [str(path) for path in computed]
    return tuple(path for path in dict.fromkeys(paths) if len(os.fsencode(path)) <= MAX_SOCKET_PATH) or tuple(paths)


def _home_capability(env: Environment) -> Optional[str]:
    """What the broker of this home says of it: a copy of a home has the same keys, and names the same socket."""
    try:
        found = os.lstat(_home_folders(env)[1])
    except OSError:
        return None
    return "home-" + hashlib.sha256(f"{found.st_dev}:{found.st_ino}".encode()).hexdigest()[:16]


def _recorded(record: Path) -> Optional[str]:
    """None unless it is a file of ours alone that holds a path."""
    try:
        held = os.open(record, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(held, "rb") as file:
        found = os.fstat(held)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            return None
        path = os.fsdecode(file.read(MAX_SOCKET_PATH + 2)).rstrip("\n")
    is_path = os.path.isabs(path) and "\0" not in path and len(os.fsencode(path)) <= MAX_SOCKET_PATH
    return path if is_path else None


def _look(path: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as error:
        raise _not_reached(path, error) from error


def _check(found: os.stat_result, path: str, is_kind: Callable[[int], bool], mode: int) -> None:
    """Refuses what is not ours alone. Nothing is fixed here: somebody else may have been there."""
    rule = "folder 0700, socket 0600, both yours, no symbolic links"
    if not is_kind(found.st_mode):
        raise _error("socket_unsafe", f"{path} is of another kind, or a symbolic link", rule=rule)
    if found.st_uid != os.getuid():
        raise _error("socket_unsafe", f"{path} belongs to somebody else", rule=rule)
    if stat.S_IMODE(found.st_mode) != mode:
        hint = f"If nobody else can have changed it: chmod {mode:o} {path}"
        raise _error("socket_unsafe", f"{path} does not have mode {mode:o}", hint=hint, rule=rule)


_START = "Start the app, or a command that starts a broker: keyturn sign-in list"


def _no_broker(path: str) -> KeyturnError:
    return _error("broker_unreachable", f"no broker listens on {path}", hint=_START)


def _not_reached(path: str, error: OSError) -> KeyturnError:
    if isinstance(error, (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)):
        return _no_broker(path)
    words = f"{path} can't be used: {error.strerror or error}"
    if isinstance(error, PermissionError):
        hint = "A sandbox may keep this program away; or a folder above belongs to somebody else."
        return _error("socket_unsafe", words, hint=hint)
    if error.errno == errno.ENAMETOOLONG:
        return _error("invalid_request", words, hint="Set KEYTURN_HOME to a shorter path.")
    return _error("broker_unreachable", words)


def _dial(env: Environment) -> Tuple[socket.socket, str]:
    """A connection to a socket that was checked and could not be swapped meanwhile, and its name."""
    if not hasattr(socket, "AF_UNIX"):
        raise _error("broker_unreachable", "this system has no Unix sockets for Python")
    refusal: Optional[KeyturnError] = None
    for path in _socket_paths(env):
        try:
            return _dial_at(path)
        except (Unreachable, Untrusted) as error:
            refusal = refusal if isinstance(refusal, Untrusted) else error
    assert refusal
    raise refusal


def _dial_at(path: str) -> Tuple[socket.socket, str]:
    folder = os.path.dirname(path)
    _check(_look(folder), folder, stat.S_ISDIR, 0o700)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    held = -1
    try:
        if hasattr(os, "O_PATH"):
            _look(path)
            held = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            found = os.fstat(held)
            _check(found, path, stat.S_ISSOCK, 0o600)
            line.connect(f"/proc/self/fd/{held}")
        else:
            found = _look(path)
            _check(found, path, stat.S_ISSOCK, 0o600)
            line.connect(path)
            if not os.path.samestat(found, _look(path)):
                raise _error("socket_unsafe", f"{path} was exchanged meanwhile")
    except OSError as error:
        line.close()
        raise _not_reached(path, error) from error
    except BaseException:
        line.close()
        raise
    finally:
        if held >= 0:
            os.close(held)
    return line, f"unix:{found.st_dev}:{found.st_ino}"


# --- Key files


def _key_file(name: str, env: Environment) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        hint = "Use up to 64 letters, digits, dots, dashes and underscores."
        raise _error("invalid_request", "this can't be the name of an app", hint=hint)
    return _config_folder(env) / "apps" / f"{name}.key"


def _read_key(file: Path) -> Identity:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _error("unpaired", f"there is no key at {file}", hint="Pair this app first.") from None
    except OSError as error:
        raise _error("file_unreadable", f"{file} can't be opened") from error
    with os.fdopen(handle, "rb") as stream:
        found = os.fstat(handle)
        others = stat.S_IMODE(found.st_mode) & 0o7177
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or others:
            hint = f"If nobody else can have read it: chmod 600 {file}"
            raise _error("file_unreadable", f"{file} is not a plain file that is yours alone", hint=hint)
        identity = _identity(_parsed(stream.read(4096)))
    if identity is None:
        raise _error("file_unreadable", f"{file} does not hold a key")
    return identity


def _write_key(file: Path, identity: Identity) -> None:
    for folder in reversed(file.parents):
        folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    text = {"appId": identity.app_id, "key": identity.key, "brokerId": identity.broker_id}
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(json.dumps(text).encode() + b"\n")
            stream.flush()
            os.fsync(handle)
    except BaseException:
        # Half a key is worse than none: it would block the next pairing.
        file.unlink()
        raise


def _identity(value: Any) -> Optional[Identity]:
    if not isinstance(value, dict):
        return None
    app_id, key, broker_id = (value.get(name) for name in ("appId", "key", "brokerId"))
    if not _is_id(app_id) or not _is_id(broker_id) or _bytes(key) is None:
        return None
    return Identity(app_id=str(app_id), key=str(key), broker_id=str(broker_id))


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value) is not None


# --- Bytes


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: Any) -> Optional[bytes]:
    """32 bytes from base64url without padding; None for any spelling but the canonical one."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]{43}", text):
        return None
    data = base64.urlsafe_b64decode(text + "=")
    return data if _text(data) == text else None


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def _parsed(data: bytes) -> Any:
    """None where it is no JSON: the parser's error would repeat a piece of the text."""
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        # RecursionError: lists within lists, thousands deep.
        return None


def _proofs(key: bytes, hello: bytes, offer: Mapping[str, Any], proof: str) -> Tuple[str, str]:
    """What the broker's proof must be, and ours after `proof`, the text that the broker sent."""
    said = [str(offer["version"]), offer["brokerId"], offer["nonce"], ",".join(offer["capabilities"])]
    transcript = b"keyturn/1\n" + hello + b"\n" + "\n".join(said).encode()
    brokers, clients = _mac(key, b"keyturn/1 broker"), _mac(key, b"keyturn/1 client")
    return _text(_mac(brokers, transcript)), _text(_mac(clients, transcript + b"\n" + proof.encode()))


# --- The wire


class _Channel:
    """One socket: requests, one at a time, and their answers."""

    def __init__(self, env: Environment) -> None:
        self._line, self.socket_id = _dial(env)
        forwarded = _forwarded(env)
        self.home = None if forwarded else _home_capability(env)
        if forwarded:
            # The socket here is another one than the broker's.
            self.socket_id = f"forward:{forwarded[0].partition('@')[0]}"
        self._pending = b""
        self._last_id = 0
        self.proven = False

    def call(
        self,
        method: str,
        params: Dict[str, Any],
        timeout: Optional[float] = None,
        on_notification: Optional[Callable[[Dict[str, Any]], None]] = None,
    ) -> Tuple[bytes, Any]:
        """Sends a request and waits for its answer: the frame as it was sent, and the result."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        frame = json.dumps(message, separators=(",", ":")).encode()
        if len(frame) > self._limit:
            raise _error("frame_invalid", "the request is longer than the broker takes")
        deadline = None if timeout is None else time.monotonic() + timeout
        with _on_the_wire(method):
            self._line.settimeout(timeout)
            self._line.sendall(frame + b"\n")
        while True:
            with _on_the_wire(method):
                answer = self._next(deadline)
            if "method" not in answer:
                break
            # An error of the program's own is no sign that the broker is gone.
            if on_notification:
                on_notification(answer)
        if "error" in answer:
            raise _refusal(answer["error"], self.proven)
        if answer.get("id") != self._last_id or "result" not in answer:
            raise _error("frame_invalid", "the broker sent an answer to no request")
        return frame, answer["result"]

    def close(self) -> None:
        self._line.close()

    def interrupt(self) -> None:
        """Ends the connection under a thread that waits for an answer. It is still that thread's to close."""
        try:
            self._line.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It has ended already.

    @property
    def _limit(self) -> int:
        return FRAME if self.proven else HANDSHAKE_FRAME

    def _next(self, deadline: Optional[float]) -> Dict[str, Any]:
        while b"\n" not in self._pending:
            if len(self._pending) > self._limit:
                raise _error("frame_invalid", "the broker's answer is too long")
            if deadline is not None:
                self._line.settimeout(max(0.001, deadline - time.monotonic()))
            piece = self._line.recv(65536)
            if not piece:
                raise _lost()
            self._pending += piece
        frame, self._pending = self._pending.split(b"\n", 1)
        message = _parsed(frame)
        if isinstance(message, dict) and message.get("jsonrpc") == "2.0":
            return message
        raise _error("frame_invalid", "the broker's answer is no message of JSON-RPC")


@contextmanager
def _on_the_wire(method: str) -> Iterator[None]:
    try:
        yield
    except socket.timeout:
        # No sign that the other end can't be trusted.
        hint = "Its keychain may wait for you: answer it, then try again."
        raise Unreachable("handshake_failed", f"the broker gave no answer in time ({method})", hint) from None
    except OSError as error:
        raise _lost() from error


def _lost() -> KeyturnError:
    return _error("broker_unreachable", "the broker closed the connection")


def _hello(identity: Identity, env: Environment) -> _Channel:
    """A channel on which both ends have proved who they are."""
    channel = _Channel(env)
    try:
        _authenticate(channel, identity)
    except BaseException:
        channel.close()
        raise
    return channel


def _authenticate(channel: _Channel, identity: Identity) -> None:
    hint = "The key was kept. Find out which program listens on the socket."
    key = _bytes(identity.key)
    if key is None:
        raise _error("file_unreadable", "the key has a wrong form")
    params = {
        "versions": [VERSION],
        "appId": identity.app_id,
        "nonce": _text(secrets.token_bytes(32)),
        "socketId": channel.socket_id,
        "capabilities": [],
    }
    frame, offer = channel.call("hello", params, HANDSHAKE_TIMEOUT)
    whole = isinstance(offer, dict) and all(_bytes(offer.get(name)) for name in ("nonce", "proof"))
    if not whole or not _is_id(offer.get("brokerId")) or not _are_capabilities(offer.get("capabilities")):
        raise _error("handshake_failed", "the broker's hello is malformed", hint=hint)
    if type(offer.get("version")) is not int or offer["version"] != VERSION:
        raise _error("handshake_failed", "the broker chose a version that was not offered", hint=hint)
    if offer["brokerId"] != identity.broker_id:
        raise _error("handshake_failed", "this is not the broker of the pairing", hint=hint)
    expected, own = _proofs(key, frame, offer, offer["proof"])
    if not hmac.compare_digest(expected.encode(), offer["proof"].encode()):
        raise _error("handshake_failed", "the broker did not prove that it holds the key", hint=hint)
    told = [item for item in offer["capabilities"] if item.startswith("home-")]
    if told and channel.home and channel.home not in told:
        raise _error("broker_unreachable", "the broker there has another home: this is a copy of it", hint=_START)
    channel.proven = True
    channel.call("authenticate", {"proof": own}, HANDSHAKE_TIMEOUT)


def _are_capabilities(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, str) and re.fullmatch(r"[a-z0-9.-]{1,32}", item) for item in value
    )


# --- For apps


class Broker:
    """A connection to the broker. Threads may share it; their requests wait for each other."""

    def __init__(self, identity: Identity, env: Environment) -> None:
        self._identity, self._env = identity, env
        # Held while one thread asks. `close` doesn't wait for it.
        self._lock = threading.Lock()
        self._closings = 0
        self._channel: Optional[_Channel] = _hello(identity, env)

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, and withdraws what the app has open.

        Threads that are asking get `Unreachable`. A later request makes a new connection.
        """
        self._closings += 1
        channel = self._channel
        if channel:
            channel.interrupt()
        # A thread that asks drops the connection itself.
        if self._lock.acquire(blocking=False):
            try:
                self._drop()
            finally:
                self._lock.release()

    def get_token(
        self,
        resource: str,
        *,
        scope: Optional[str] = None,
        account: Optional[str] = None,
        minimum_validity: Optional[int] = None,
        interaction: str = "never",
        timeout: Optional[int] = None,
        challenge: Optional[Tuple[int, Optional[str]]] = None,
        operation: Optional[str] = None,
    ) -> Token:
        """A token for an MCP server: `resource` is its URL as the user knows it.

        With `interaction="allow"` the broker may ask the user and open the browser, and this waits up to
        `timeout` seconds (300) for them. `challenge`: the status (401 or 403) and the WWW-Authenticate header
        with which the server rejected the last token. `operation`: what the app is doing, such as `POST /mcp tools/call`.
        """
        params = {
            "resource": resource,
            "scope": scope,
            "account": account,
            "minimumValidity": minimum_validity,
            "interaction": interaction,
            "timeout": timeout,
            "challenge": None if challenge is None else _challenge(*challenge),
            "operation": operation,
        }
        return _token(self._ask("token.get", params))

    def headers(self, token: Token, method: str, url: str, nonce: Optional[str] = None) -> Dict[str, str]:
        """The headers that authorize one request: Authorization, and for a bound token a proof (DPoP).

        Ask just before each request, also before one that is sent again: a server takes each proof once. `nonce`:
        the DPoP-Nonce of the server's last answer. Where it refused with `use_dpop_nonce`, send the request once
        more with the nonce of that answer. Raises with the reason `not_found` where the broker no longer has the
        token: ask `get_token` again.
        """
        headers = {"Authorization": token.header}
        if not token.is_bound:
            return headers
        # RFC 9449 section 4.2: a proof is for the URL without its query.
        plain = re.sub(r"[?#].*", "", url, flags=re.S)
        params = {"tokenId": token.token_id, "method": method, "url": plain, "nonce": nonce}
        result = self._ask("token.prove", params)
        proof = result.get("proof") if isinstance(result, dict) else None
        if not isinstance(proof, str) or not re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", proof, re.ASCII):
            raise _error("frame_invalid", "the broker's answer to token.prove is malformed")
        return {**headers, "DPoP": proof}

    def reject(
        self,
        token: Token,
        status: int = 401,
        www_authenticate: Optional[str] = None,
        *,
        operation: Optional[str] = None,
        worked: Optional[bool] = None,
    ) -> Rejection:
        """Tells the broker that the server rejected a token. `worked`: the server took this very token before.

        Then ask `get_token` with the challenge. With `retry_after` there is no other token for so many seconds. Never send the same request again with the same token.
        """
        params = {
            "tokenId": token.token_id,
            "status": status,
            "challenge": _challenge(status, www_authenticate) if status in (401, 403) else None,
            "operation": operation,
            "worked": worked,
        }
        result = self._ask("token.reject", params)
        if not isinstance(result, dict) or not isinstance(result.get("rejected"), bool):
            raise _error("frame_invalid", "the broker's answer to token.reject is malformed")
        return Rejection(rejected=result["rejected"], retry_after=result.get("retryAfter"))

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Asks; where the broker stops or is gone, asks the next one the same. Twice does no harm here."""
        given = {name: value for name, value in params.items() if value is not None}
        deadline: Optional[float] = None
        tries = 0
        closings = self._closings
        with self._lock:
            self._go_on(closings)
            while True:
                try:
                    if self._channel is None:
                        self._channel = _hello(self._identity, self._env)
                        deadline = None
                        self._go_on(closings)
                    tries += 1
                    return self._channel.call(method, given)[1]
                except Unreachable as error:
                    self._drop()
                    self._go_on(closings)
                    stopping = error.reason == "broker_stopping"
                    now = time.monotonic()
                    if deadline is None:
                        deadline = now + (AFTER_STOP if stopping else AFTER_LOSS)
                    if now >= deadline or (tries >= MAX_TRIES and not stopping):
                        raise
                    time.sleep(POLL)
                except KeyturnError as error:
                    # Answers may be out of step after these.
                    if error.reason in ("frame_invalid", "handshake_failed", "parse_error"):
                        self._drop()
                    raise
                except BaseException:
                    # Interrupted in the middle of an answer.
                    self._drop()
                    raise

    def _go_on(self, closings: int) -> None:
        if closings != self._closings:
            raise _error("broker_unreachable", "the connection was closed by this program")

    def _drop(self) -> None:
        if self._channel:
            self._channel.close()
        self._channel = None


def _challenge(status: int, www_authenticate: Optional[str]) -> Dict[str, Any]:
    # The broker takes 8192 characters; a challenge without its text is still one.
    if www_authenticate is None or len(www_authenticate) > 8192:
        return {"status": status}
    return {"status": status, "wwwAuthenticate": www_authenticate}


def connect(app: str | Identity, env: Environment = os.environ) -> Broker:
    """Connects as a paired app: by its name, or with an identity from a store of your own."""
    identity = _read_key(_key_file(app, env)) if isinstance(app, str) else app
    return Broker(identity, env)


def pair(name: str, on_code: Callable[[str], object], env: Environment = os.environ) -> Identity:
    """Asks the user, through the broker, to let this app in. Only the user may start this.

    `on_code` gets six digits: show them, since the broker's request shows the same. Waits up to two minutes.
    What `on_code` raises ends the pairing.
    The identity then also lies in `apps/NAME.key` of the configuration folder.
    """
    file = _key_file(name, env)
    exists = f"there is a key at {file} already"
    if os.path.lexists(file):
        raise _error("conflict", exists)
    identity = _ask_to_pair(name, on_code, env)
    try:
        _write_key(file, identity)
    except OSError as error:
        if os.path.lexists(file):
            raise _error("conflict", exists) from None
        raise _error("file_unreadable", f"{file} can't be written") from error
    try:
        # The key is void unless a hello succeeds with it within a minute.
        _hello(identity, env).close()
    except BaseException:
        file.unlink()
        raise
    return identity


def _ask_to_pair(name: str, on_code: Callable[[str], object], env: Environment) -> Identity:
    def heard(message: Dict[str, Any]) -> None:
        code = message["params"].get("code") if isinstance(message.get("params"), dict) else None
        if message["method"] == "pair.code" and isinstance(code, str) and re.fullmatch(r"[0-9]{6}", code):
            on_code(code)

    channel = _Channel(env)
    try:
        params = {"versions": [VERSION], "name": name, "socketId": channel.socket_id}
        identity = _identity(channel.call("pair", params, PAIRING_TIMEOUT, heard)[1])
    finally:
        channel.close()
    if identity is None:
        raise _error("handshake_failed", "the broker's answer to the pairing is malformed")
    return identity


# --- For a terminal

_EXIT_CODES = {
    2: "invalid_request invalid_resource invalid_scope not_found conflict",
    3: "consent_required consent_pending login_required login_pending account_required",
    4: "consent_denied not_permitted unpaired pairing_denied",
    5: "login_failed access_denied metadata_invalid issuer_mismatch resource_mismatch state_mismatch pkce_unsupported"
    " insecure_url registration_required registration_failed redirect_port_taken token_invalid audience_mismatch"
    " scope_insufficient step_up_exhausted authorization_not_required token_rejected account_mismatch"
    " client_rejected api_key_rejected oauth_offered assertion_invalid",
    6: "authorization_server_unreachable mcp_server_unreachable host_unreachable rate_limited",
    7: "locked paused vault_unreadable vault_unavailable file_unreadable",
    8: "broker_unreachable broker_running handshake_failed socket_unsafe frame_invalid broker_stopping"
    " version_unsupported",
    130: "interrupted",
}


def main() -> int:
    """Exits as the command `keyturn token` does. A refusal is on standard error."""
    parser = argparse.ArgumentParser(prog="keyturn.py", description="Access tokens from the Keyturn broker.")
    commands = parser.add_subparsers(dest="command", required=True)
    pairing = commands.add_parser("pair", help="ask the user to let an app in")
    pairing.add_argument("name", help="the app's name")
    asking = commands.add_parser("token", help="print an access token")
    asking.add_argument("name", help="the name the app was paired under")
    asking.add_argument("url", help="the endpoint's URL")
    asking.add_argument("--scope", help="scopes, separated by spaces")
    asking.add_argument("--account", help="which account, where there are several")
    asking.add_argument("--min-validity", type=int, metavar="SECONDS", help="how long it must still live")
    asking.add_argument("--ask", action="store_true", help="let the broker ask you and open the browser")
    asking.add_argument("--dpop", metavar="METHOD", help="print the headers of one request with this method")
    asking.add_argument("--nonce", help="the DPoP-Nonce of the server's last answer")
    given = parser.parse_args()
    try:
        if given.command == "pair":
            pair(given.name, on_code=lambda code: print(f"Compare this code: {code}", flush=True))
            print("Paired.")
        else:
            with connect(given.name) as broker:
                token = broker.get_token(
                    given.url,
                    scope=given.scope,
                    account=given.account,
                    minimum_validity=given.min_validity,
                    interaction="allow" if given.ask else "never",
                )
                headers = broker.headers(token, given.dpop, given.url, given.nonce) if given.dpop else {}
            print("\n".join(f"{name}: {value}" for name, value in headers.items()) or token.access_token)
            if token.is_bound and not given.dpop:
                print("keyturn.py: this token is bound to a DPoP key: use --dpop METHOD", file=sys.stderr)
    except KeyturnError as error:
        lines = [f"keyturn.py: {error}"]
        lines += [f"rule: {error.rule}"] if error.rule else []
        lines += [f"hint: {error.hint}"] if error.hint else []
        print("\n".join([*lines, f"reason: {error.reason}"]), file=sys.stderr)
        return next((code for code, reasons in _EXIT_CODES.items() if error.reason in reasons.split()), 1)
    except OSError as error:
        print(f"keyturn.py: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
