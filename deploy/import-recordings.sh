#!/usr/bin/env bash
# Imports what the agents of a CI job recorded; the GitHub Action runs it, and any other CI can. Reads PLIMSOLL_URL, PLIMSOLL_KEY,
# PLIMSOLL_PATHS (one a line) and PLIMSOLL_HARNESS. Exit code: that of plimsoll import, and 0 if nothing was recorded.
set -euo pipefail

found=()
while IFS= read -r path; do
  path=${path/#\~\//$HOME/}
  if [[ -z $path ]]; then continue; fi
  if [[ -e $path ]]; then found+=("$path"); else echo "No recordings in $path"; fi
done <<<"${PLIMSOLL_PATHS:-$HOME/.claude/projects}"

if ((${#found[@]} == 0)); then exit 0; fi
# The job needs no PostgreSQL.
export npm_config_omit=optional
exec npx --yes plimsoll@0.1.0 import ${PLIMSOLL_HARNESS:+--harness "$PLIMSOLL_HARNESS"} -- "${found[@]}"
