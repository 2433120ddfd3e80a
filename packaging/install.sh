#!/bin/sh
# Installs ioplan from this folder, without a network.
#   sh install.sh [FOLDER]       PYTHON names another Python, 3.11 or newer
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=${1:-$HOME/.local/share/ioplan}
"${PYTHON:-python3}" -m venv "$place"
"$place/bin/pip" install --quiet --no-index --find-links "$here/wheels" ioplan ||
  { echo "error: this archive is for SYSTEM" >&2; exit 1; }
echo "installed: $place/bin/ioplan"
