#!/usr/bin/env bash
# The main jobs on real input: an attention function in PyTorch becomes a verified program; an attention program with
# affine mistakes is checked, fixed, and held against PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp examples/demo/attention_mistakes.py "$work/attention.py"
cp examples/demo/torch_attention.py "$work"
cd "$work"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

say cat torch_attention.py
cat torch_attention.py

say stepsmith synth torch_attention.py::attention --explain --output synthesized.py
stepsmith synth torch_attention.py::attention --explain --output synthesized.py
cat synthesized.py

say "stepsmith simulate synthesized.py | tail -n 8"
stepsmith simulate synthesized.py | tail -n 8

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
