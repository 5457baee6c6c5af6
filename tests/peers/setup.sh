#!/bin/sh
# Installs the peers by name from the package index, each in an environment of its own below build/peers.
set -eu
cd "$(dirname "$0")/../.."
install() {
    python3 -m venv "build/peers/$1"
    "build/peers/$1/bin/python" -m pip --disable-pip-version-check install --quiet $2
}
install llama "xllamacpp gguf numpy"
install litellm "litellm[proxy]"
