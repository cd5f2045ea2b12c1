"""A real PostgreSQL server to throw away: its own data, a socket of its own, and no port that others could reach.

It runs from installed binaries (`initdb` and `pg_ctl`, of Debian's package `postgresql`). PostgreSQL refuses to run as
root; if this process is root's, the server belongs to the user `postgres`, or to `nobody` where there is none.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import sqlalchemy

_DEBIAN = Path("/usr/lib/postgresql")
_USERS = ("postgres", "nobody")
_OWNER = "tunedprior"
#: Everything is flushed to disk as a server would for its users: a result that was told survives a crash.
_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
fsync = on
synchronous_commit = on
"""
Mode = Literal["fast", "immediate"]


@cache
def binary(name: str) -> Path | None:
    """An installed program of PostgreSQL's: of PATH, or the newest that Debian has; None if there is none."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    versions = [path for path in _DEBIAN.glob(f"*/bin/{name}") if path.parts[-3].isdigit()]
    return max(versions, key=lambda path: int(path.parts[-3]), default=None)


def missing() -> str | None:
    """Why there can be no server on this machine, or None."""
    lacking = [name for name in ("initdb", "pg_ctl") if binary(name) is None]
    if lacking:
        return f"PostgreSQL's {' and '.join(lacking)} are not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody to run it as"
    return None


def _user() -> str | None:
    """Whom the server belongs to, if not to whoever runs this."""
    known = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in _USERS if name in known), None)


class Server:
    """One that is running, from its making to `stop`.

    Attributes:
        folder: All that it has on disk, its socket too.
        url: For SQLAlchemy with psycopg2.
    """

    def __init__(self) -> None:
        reason = missing()
        if reason is not None:
            raise RuntimeError(reason)
        self.folder = Path(tempfile.mkdtemp(prefix="tunedprior-pg-"))
        self.url = f"postgresql+psycopg2://{_OWNER}@/postgres?host={self.folder}"
        self._data, self._log = self.folder / "data", self.folder / "log"
        self._as: dict[str, Any] = {}
        self._databases = 0
        try:
            if os.geteuid() == 0:
                user = pwd.getpwnam(str(_user()))
                os.chown(self.folder, user.pw_uid, user.pw_gid)
                self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            self._do("initdb", "-D", self._data, "-U", _OWNER, "--auth=trust", "--encoding=UTF8", "--no-sync")
            configured = self._data / "postgresql.conf"
            configured.write_text(configured.read_text() + _SETTINGS.format(folder=self.folder))
            self._control("start", "-l", self._log)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def new_database(self) -> str:
        """The address of an empty one: whoever shares a server need share nothing else."""
        self._databases += 1
        engine = sqlalchemy.create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text(f"CREATE DATABASE own{self._databases}"))
        engine.dispose()
        return self.url.replace("/postgres?", f"/own{self._databases}?")

    def restart(self, mode: Mode = "fast") -> None:
        """Stop and start: `fast` ends every connection in order, `immediate` is a crash that the next start repairs."""
        self._control("restart", "-m", mode, "-l", self._log)

    def halt(self, mode: Mode = "immediate") -> None:
        """Stop, to be started again."""
        self._control("stop", "-m", mode)

    def start(self) -> None:
        """After `halt`."""
        self._control("start", "-l", self._log)

    def stop(self) -> None:
        """Stop for good: nothing is left of it."""
        if (self._data / "postmaster.pid").exists():
            self._control("stop", "-m", "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, what: str, *options: object) -> None:
        self._do("pg_ctl", what, "-D", self._data, "-w", "-s", *options)

    def _do(self, name: str, *arguments: object) -> None:
        # Output goes to a file: the server would keep a pipe open for as long as it runs.
        with (self.folder / "said").open("w+", encoding="utf-8") as said:
            command = [str(binary(name)), *map(str, arguments)]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, cwd=self.folder, **self._as
            )
            if done.returncode != 0:
                said.seek(0)
                raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {said.read()}")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server for the length of a block."""
    server = Server()
    try:
        yield server
    finally:
        server.stop()
