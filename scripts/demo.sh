#!/usr/bin/env bash
# The main job on real input: an attention program with affine mistakes is checked, fixed, and held against PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp examples/demo/attention_mistakes.py "$work/attention.py"
cd "$work"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

say stepsmith check attention.py
if stepsmith check attention.py; then
    echo "the demo expects findings here" >&2
    exit 1
fi

say stepsmith check --fix attention.py
stepsmith check --fix attention.py
diff -u --label before --label after "$OLDPWD/examples/demo/attention_mistakes.py" attention.py || true

say stepsmith simulate attention.py
stepsmith simulate attention.py
