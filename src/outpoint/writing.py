"""Files that users ask for: they appear complete, or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outpoint.errors import OptionError, OutpointError


def absolute(path: str | Path, kind: type[OutpointError] = OptionError) -> Path:
    """A path that stays the same wherever the process goes."""
    try:
        return Path(path).absolute()
    except FileNotFoundError:
        raise kind(
            f"there is no place for {path}, as the working directory is gone: go to another one."
        ) from None


@contextmanager
def replaced(path: Path, kind: type[OutpointError] = OptionError) -> Iterator[Path]:
    """A place to write what then becomes ``path``; a failure is an error of this ``kind``.

    What is not an ordinary file, such as ``/dev/stdout``, is written to as it is; of a link, the
    file it leads to is replaced.
    """
    try:
        if path.exists() and not path.is_file():
            yield path
            return
        target = path.resolve()
        with tempfile.TemporaryDirectory(prefix=".outpoint-", dir=target.parent) as private:
            beside = Path(private) / target.name
            yield beside
            beside.replace(target)
    except OSError as error:
        raise kind(f"cannot write {path}: {os.strerror(error.errno or 5)}.") from None


def write_text(path: Path, text: str, kind: type[OutpointError] = OptionError) -> None:
    """Write a file in UTF-8, or say why it cannot be written."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise kind(f"cannot write {path}: a name is not valid Unicode.") from None
    with replaced(path, kind) as place:
        place.write_bytes(content)
