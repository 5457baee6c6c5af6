"""A proxy on loopback that passes bytes on, until the client says a certain word: that still arrives, its answer does not."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def cut_connection(host: str, port: int, word: bytes) -> Iterator[int]:
    """The proxy's port. Once `word` has been passed on to the server, nothing comes back any more."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, (host, port), word), daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener: socket.socket, target: tuple[str, int], word: bytes) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(target, timeout=30)
            cut = threading.Event()
            threading.Thread(target=_to_server, args=(client, server, word, cut), daemon=True).start()
            threading.Thread(target=_to_client, args=(server, client, cut), daemon=True).start()


def _to_server(client: socket.socket, server: socket.socket, word: bytes, cut: threading.Event) -> None:
    with suppress(OSError):
        while data := client.recv(65536):
            if word in data:
                cut.set()
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)


def _to_client(server: socket.socket, client: socket.socket, cut: threading.Event) -> None:
    with suppress(OSError), client, server:
        while (data := server.recv(65536)) and not cut.is_set():
            client.sendall(data)
        client.shutdown(socket.SHUT_RDWR)
