# One end of a pair is bound to a name, connected, listened at, or addresses somebody with a message.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    abstract = "\0" + os.environ["ESCAPE_ABSTRACT"]
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        other.close()
        for use in (
            lambda: one.bind("\0stepsmith-escape"), lambda: one.connect(abstract), lambda: one.listen(1),
            lambda: one.connect(os.environ["ESCAPE_UNIX"]), lambda: one.sendto(b"x", abstract),
        ):
            try:
                use()
                return True
            except OSError:
                continue
