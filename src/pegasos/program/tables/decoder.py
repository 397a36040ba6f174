"""A decoder in a process of its own: if a damaged file stops it, the parent only says so."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pegasos.program.files import NoSpace, temporary_folder
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain
from pegasos.program.tables.source import Source

_SCRIPT = Path(__file__).with_name("_decoder_process.py")
#: Seconds for one answer; sound files need a small part of it.
_PATIENCE = 120
#: Bytes: where less is free after a failure, that was its cause. The child cannot tell: its libraries say it in words.
_ROOM = 2**20


class Decoder(contextlib.AbstractContextManager["Decoder"]):
    """A child that answers questions about one file; always ended and cleaned up, whatever happens."""

    def __init__(self, source: Source, kind: str, word: str, limit: int) -> None:
        if source.packer is not None:
            raise BadData(
                f"{source.name} is a packed {word} file; unpack it first, {word} is packed inside already."
            )
        self.source, self.word = source, word
        self._stack = contextlib.ExitStack()
        self.folder = self._stack.enter_context(temporary_folder())
        environment = {**os.environ, "POLARS_MAX_THREADS": "2", "HDF5_PLUGIN_PATH": "::"}
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.DEVNULL,
            "text": True,
        }
        self._child = subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT)], env=environment, **pipes
        )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        path, seconds = str(source.path.resolve()), 60 + source.path.stat().st_size // 2**20
        self._first = {
            "format": kind,
            "path": path,
            "folder": str(self.folder),
            "limit": limit,
            "seconds": seconds,
        }

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with contextlib.suppress(ValueError, OSError):  # the pipe may be closed while we listen
            for line in self._child.stdout:
                self._answers.put(line)
        self._answers.put("")

    def describe(self) -> dict[str, Any]:
        """What the file holds."""
        return self._ask(self._first)

    @contextlib.contextmanager
    def part(self, **asked: Any) -> Iterator[Path]:
        """A part of the file, as a file that goes once it was read."""
        path = Path(self._ask(asked)["file"])
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _ask(self, words: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # where it is dead, listening tells how
            self._child.stdin.write(json.dumps(words) + "\n")
            self._child.stdin.flush()
        try:
            answer = json.loads(self._answers.get(timeout=_PATIENCE))
        except queue.Empty:
            raise self._dead(f"no answer for {_PATIENCE} seconds") from None
        except ValueError:
            raise self._dead(f"exit code {self._child.wait(timeout=10)}") from None
        if "error" not in answer:
            return dict(answer)
        reason = plain(answer["error"].strip(), 300)
        if answer["missing"]:
            raise BadData(
                f"{self.source.name}: reading {self.word} needs a package ({reason}); pip install '.[all]' in a clone."
            )
        if not answer["refused"] and shutil.disk_usage(self.folder).free < _ROOM:
            raise NoSpace(
                OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), self.folder.parent, temporary=True
            )
        raise BadData(f"{self.source.name}: {reason}.") if answer["refused"] else self._dead(reason)

    def _dead(self, reason: str) -> BadData:
        return BadData(
            f"{self.source.name} is damaged: the {self.word} decoder stopped ({plain(reason)}). Write it again."
        )

    def __exit__(self, *error: object) -> None:
        self._child.kill()
        with contextlib.suppress(OSError, ValueError), self._child:
            pass  # waits for it, and closes its pipes
        self._stack.close()
