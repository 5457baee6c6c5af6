"""The server of llama.cpp, from the package that brings it compiled: `python llama_server.py FILE PORT`, until it is ended.

This file runs in the environment of the peers and imports nothing of Zeno's.
"""

import os
import signal
import sys

import xllamacpp


def serve(model: str, port: int) -> None:
    """Serve the model in a GGUF file under the name `written` to whoever knows the key in `LLAMA_KEY`."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"written"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.api_keys = [os.environ["LLAMA_KEY"]]
    params.n_parallel = 1
    params.warmup = False
    params.ui = False
    server = xllamacpp.Server(params)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    serve(sys.argv[1], int(sys.argv[2]))
