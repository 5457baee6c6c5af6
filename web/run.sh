#!/bin/sh
# Runs a script of package.json with Node: the one of this machine, or where there is none one from PyPI, kept beside the project's Python.
#     sh web/run.sh build
set -eu
cd "$(dirname "$0")"
venv=../.venv/bin
fits='const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
if ! { command -v npm >/dev/null && node -e "$fits"; } 2>/dev/null; then
    PATH="$(cd $venv && pwd):$PATH"
    export PATH
    if ! node -e "$fits" 2>/dev/null; then
        echo "Node 20.19 or newer was not found; installing one into .venv." >&2
        $venv/python -m pip --disable-pip-version-check install --quiet --require-hashes -r ../requirements-node.lock
    fi
fi
if [ ! -e node_modules/.installed ] || [ package-lock.json -nt node_modules/.installed ]; then
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.installed
fi
npm run --silent "$@"
