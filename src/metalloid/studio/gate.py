"""Who may ask the studio: only a page that the studio served itself, and only who knows the token in its address.

The server listens on loopback, which every program and every web page of this machine can reach. A page of another
origin is told apart by three headers that its script cannot set: Host (a name that was made to point here, DNS
rebinding), Origin and Sec-Fetch-Site. The token keeps out the other users and programs of the machine.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
_NAMES = (LOOPBACK, "localhost")
_OURS = ("same-origin", "none")  # none: somebody typed the address


@dataclass(frozen=True)
class Refused(Exception):
    """A request that is not answered, and why."""

    code: int
    reason: str


@dataclass(frozen=True)
class Gate:
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def enter(self, path: str, headers: Mapping[str, str], sends: bool) -> str:
        """The path behind the token; raises Refused. `sends`: the request carries a body, so a page has made it."""
        host = headers.get("Host", "")
        if host not in (f"{name}:{self.port}" for name in _NAMES):
            raise Refused(403, "this address has another name: open the one that `metalloid studio` printed")
        origin = headers.get("Origin")
        if (origin is not None or sends) and origin != f"http://{host}":
            raise Refused(403, "the studio answers its own page only")
        if headers.get("Sec-Fetch-Site", "none") not in _OURS:
            raise Refused(403, "the studio answers its own page only")
        token, _, rest = path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise Refused(404, "nothing is here: open the address that `metalloid studio` printed")
        return rest.partition("?")[0]


def new_token() -> str:
    return secrets.token_urlsafe(24)
