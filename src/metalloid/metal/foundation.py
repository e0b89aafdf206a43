"""What Metal's programs use of Foundation: strings, data, URLs, errors, collections, pools.

PyObjC gives strings, numbers, arrays and dictionaries to Python as its own; only what carries more is a class here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import unquote, urlparse

from metalloid.metal.objects import NSObject
from metalloid.metal.structs import NSMakeRange, NSRange

NSUTF8StringEncoding = 4
NSLocalizedDescriptionKey = "NSLocalizedDescription"
NSCocoaErrorDomain = "NSCocoaErrorDomain"


class NSError(NSObject):
    """What went wrong: a domain, a number in it, and a sentence."""

    def __init__(
        self, domain: str = "", code: int = 0, text: str = "", info: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        self._domain, self._code = domain, code
        self._info = {NSLocalizedDescriptionKey: text, **(info or {})}

    @classmethod
    def errorWithDomain_code_userInfo_(cls, domain: str, code: int, info: dict[str, Any] | None) -> NSError:
        given = dict(info or {})
        return cls(domain, code, str(given.get(NSLocalizedDescriptionKey, "")), given)

    def domain(self) -> str:
        return self._domain

    def code(self) -> int:
        return self._code

    def userInfo(self) -> dict[str, Any]:
        return dict(self._info)

    def localizedDescription(self) -> str:
        text = str(self._info[NSLocalizedDescriptionKey])
        return text or f"The operation couldn't be completed. ({self._domain} error {self._code}.)"

    def localizedFailureReason(self) -> str | None:
        return self._info.get("NSLocalizedFailureReason")

    def description(self) -> str:
        return f'Error Domain={self._domain} Code={self._code} "{self.localizedDescription()}"'

    def __str__(self) -> str:
        return self.description()


class NSString(str):
    """A Python string with the selectors that scripts send to one."""

    @classmethod
    def stringWithString_(cls, text: str) -> NSString:
        return cls(text)

    stringWithUTF8String_ = classmethod(
        lambda cls, text: cls(text.decode() if isinstance(text, bytes) else text)
    )

    @classmethod
    def stringWithContentsOfFile_encoding_error_(
        cls, path: str, encoding: int, error: object
    ) -> tuple[NSString | None, NSError | None]:
        try:
            return cls(Path(path).read_text(encoding="utf-8")), None
        except OSError as failed:
            return None, NSError(NSCocoaErrorDomain, 260, str(failed))

    @classmethod
    def alloc(cls) -> type[NSString]:
        return cls

    @classmethod
    def initWithString_(cls, text: str) -> NSString:
        return cls(text)

    def UTF8String(self) -> bytes:
        return self.encode()

    def length(self) -> int:
        return len(self)

    def dataUsingEncoding_(self, encoding: int) -> NSData:
        return NSData(self.encode())


class NSData(NSObject):
    """Bytes."""

    def __init__(self, data: Any = b"") -> None:
        super().__init__()
        self._data = bytes(memoryview(data))

    @classmethod
    def dataWithBytes_length_(cls, data: Any, length: int) -> NSData:
        return cls(memoryview(data).cast("B")[:length])

    @classmethod
    def dataWithData_(cls, data: Any) -> NSData:
        return cls(data)

    @classmethod
    def dataWithContentsOfFile_(cls, path: str) -> NSData | None:
        try:
            return cls(Path(path).read_bytes())
        except OSError:
            return None

    @classmethod
    def dataWithContentsOfURL_(cls, url: NSURL) -> NSData | None:
        return cls.dataWithContentsOfFile_(url.path())

    def initWithBytes_length_(self, data: Any, length: int) -> Self:
        self._data = bytes(memoryview(data).cast("B")[:length])
        return self

    def bytes(self) -> memoryview:
        return memoryview(self._data)

    def length(self) -> int:
        return len(self._data)

    def writeToFile_atomically_(self, path: str, atomically: bool) -> bool:
        Path(path).write_bytes(self._data)
        return True

    def __bytes__(self) -> Any:
        return self._data

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NSData) and other._data == self._data

    def __hash__(self) -> int:
        return hash(self._data)


class NSURL(NSObject):
    """A place: a file's, mostly."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text

    @classmethod
    def URLWithString_(cls, text: str) -> NSURL:
        return cls(text)

    @classmethod
    def fileURLWithPath_(cls, path: str) -> NSURL:
        return cls(Path(path).absolute().as_uri())

    @classmethod
    def fileURLWithPath_isDirectory_(cls, path: str, directory: bool) -> NSURL:
        return cls.fileURLWithPath_(path)

    def initFileURLWithPath_(self, path: str) -> NSURL:
        self._text = Path(path).absolute().as_uri()
        return self

    def initWithString_(self, text: str) -> NSURL:
        self._text = text
        return self

    def path(self) -> str:
        return unquote(urlparse(self._text).path)

    def fileSystemRepresentation(self) -> bytes:
        return os.fsencode(self.path())

    def absoluteString(self) -> str:
        return self._text

    def isFileURL(self) -> bool:
        return self._text.startswith("file:")

    def lastPathComponent(self) -> str:
        return Path(self.path()).name

    def description(self) -> str:
        return self._text


class NSMutableArray(list[Any]):
    """A Python list with the selectors that scripts send to one."""

    @classmethod
    def array(cls) -> Self:
        return cls()

    @classmethod
    def arrayWithArray_(cls, items: Iterable[Any]) -> Self:
        return cls(items)

    @classmethod
    def arrayWithObject_(cls, item: Any) -> Self:
        return cls([item])

    @classmethod
    def alloc(cls) -> Self:
        return cls()

    def init(self) -> Self:
        return self

    def addObject_(self, item: Any) -> None:
        self.append(item)

    def objectAtIndex_(self, at: int) -> Any:
        return self[at]

    def removeAllObjects(self) -> None:
        self.clear()

    def containsObject_(self, item: Any) -> bool:
        return item in self


class NSMutableDictionary(dict[Any, Any]):
    """A Python dictionary with the selectors that scripts send to one."""

    @classmethod
    def dictionary(cls) -> Self:
        return cls()

    @classmethod
    def dictionaryWithDictionary_(cls, other: dict[Any, Any]) -> Self:
        return cls(other)

    @classmethod
    def dictionaryWithObject_forKey_(cls, value: Any, key: Any) -> Self:
        return cls({key: value})

    @classmethod
    def alloc(cls) -> Self:
        return cls()

    def init(self) -> Self:
        return self

    def setObject_forKey_(self, value: Any, key: Any) -> None:
        self[key] = value

    def objectForKey_(self, key: Any) -> Any:
        return self.get(key)

    def allKeys(self) -> list[Any]:
        return list(self)


class NSNumber:
    """Numbers are Python's own; this makes them."""

    numberWithInt_ = numberWithInteger_ = numberWithLong_ = numberWithUnsignedInt_ = staticmethod(int)
    numberWithUnsignedInteger_ = numberWithUnsignedLongLong_ = numberWithLongLong_ = staticmethod(int)
    numberWithFloat_ = numberWithDouble_ = staticmethod(float)
    numberWithBool_ = staticmethod(bool)


class NSAutoreleasePool(NSObject):
    """Objects live as long as Python refers to them: a pool has nothing to do."""

    def drain(self) -> None:
        """Nothing is waiting."""


class NSDate(NSObject):
    """The time."""

    @classmethod
    def date(cls) -> NSDate:
        return cls()

    def timeIntervalSince1970(self) -> float:
        return time.time()


class NSProcessInfo(NSObject):
    """The machine that a program asks for."""

    PROPERTIES: ClassVar[dict[str, Any]] = {}

    @classmethod
    def processInfo(cls) -> NSProcessInfo:
        return cls()

    def operatingSystemVersionString(self) -> str:
        return "Version 14.0 (metalloid)"

    def processorCount(self) -> int:
        return os.cpu_count() or 1

    def physicalMemory(self) -> int:
        from metalloid.runtime.information import total_memory

        return total_memory()

    def processIdentifier(self) -> int:
        return os.getpid()

    def environment(self) -> dict[str, str]:
        return dict(os.environ)


class NSBundle(NSObject):
    """Where a program keeps its files: beside its script."""

    @classmethod
    def mainBundle(cls) -> NSBundle:
        return cls()

    def bundlePath(self) -> str:
        return str(Path.cwd())

    def pathForResource_ofType_(self, name: str, kind: str | None) -> str | None:
        found = Path.cwd() / (f"{name}.{kind}" if kind else name)
        return str(found) if found.exists() else None

    def bundleIdentifier(self) -> None:
        return None


def NSLog(form: str, *values: object) -> None:
    """To stderr, as on a Mac."""
    import sys

    print(form.replace("%@", "%s") % values if values else form, file=sys.stderr)


NSArray, NSDictionary, NSMutableData, NSMutableString = NSMutableArray, NSMutableDictionary, NSData, NSString
NSNull = type(None)

NAMES: dict[str, Any] = {
    name: value for name, value in list(globals().items()) if name.startswith("NS") and name != "NAMES"
}
__all__ = ["NAMES", "NSURL", "NSData", "NSError", "NSMakeRange", "NSRange"]
