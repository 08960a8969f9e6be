#!/usr/bin/env bash
# Fills in what the documents take from the command: between a line "<!-- made by: tokitai ARGUMENTS -->" and the next
# "<!-- end -->" stands what that command prints. With --check nothing is written, and a difference fails.
set -euo pipefail
check=no
if [ "${1:-}" = "--check" ]; then
  check=yes
  shift
fi
[ $# -eq 1 ] || { echo "usage: docs.sh [--check] TOKITAI" >&2; exit 2; }
tokitai=$(realpath "$1")
cd "$(dirname "$0")/.."

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
differing=0
while IFS= read -r file; do
  inside=no
  while IFS= read -r line; do
    [ "$line" = "<!-- end -->" ] && inside=no
    [ $inside = yes ] || printf '%s\n' "$line"
    if [[ $line == "<!-- made by: tokitai "*" -->" ]]; then
      read -ra arguments <<<"${line#<!-- made by: tokitai }"
      unset 'arguments[-1]'  # the end of the comment
      "$tokitai" "${arguments[@]}"
      inside=yes
    fi
  done <"$file" >"$fresh"
  if [ $check = no ]; then
    cp "$fresh" "$file"
  elif ! diff -u "$file" "$fresh"; then
    differing=1
  fi
done < <(grep -l '^<!-- made by: tokitai ' docs/*.md)
if [ $differing = 1 ]; then
  echo "a document is not what the command makes: run make docs" >&2
  exit 1
fi
