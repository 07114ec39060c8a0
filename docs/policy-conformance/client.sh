#!/bin/sh
# A client of Plimsoll policies with curl, jq and sha256sum. Prints each policy that it applies as a line of JSON.
# Usage: PLIMSOLL_URL=… PLIMSOLL_KEY=… PLIMSOLL_HARNESS=my-bot@host-1 ./client.sh
# Optional: POLL_SECONDS (30), PLIMSOLL_STATE (a folder for the last good policy), PLIMSOLL_BOUNDS (JSON, as in README.md; only
# of thresholds.ceiling in percent).
set -u
: "${PLIMSOLL_URL:?}" "${PLIMSOLL_KEY:?}" "${PLIMSOLL_HARNESS:?}"
poll=${POLL_SECONDS:-30}
state=${PLIMSOLL_STATE:+$PLIMSOLL_STATE/policy.json}
bounds=${PLIMSOLL_BOUNDS:-}
[ -n "$bounds" ] || bounds='{}'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 0' INT TERM
run=$(date +%s)-$$
generation=-1
hash=
tag=
refused=
number=0

acknowledge() { # status, code, message
  number=$((number + 1))
  jq -cn --arg id "policy/$new_generation/$1/$run/$number" --arg harness "$PLIMSOLL_HARNESS" \
    --argjson generation "$new_generation" --arg hash "$new_hash" \
    --arg status "$1" --arg code "$2" --arg message "$3" --argjson at "$(($(date +%s) * 1000))" \
    '{id: $id, type: "policy_ack", at: $at, harness: $harness, generation: $generation, hash: $hash, status: $status}
     + if $code == "" then {} else {code: $code, message: $message} end' |
    curl -sS -m 10 -o /dev/null -X POST "$PLIMSOLL_URL/api/v1/events" \
      -H "Authorization: Bearer $PLIMSOLL_KEY" -H "Content-Type: application/x-ndjson" --data-binary @- || true
}

refuse() { # code, message
  [ "$refused" = "$new_generation $new_hash" ] && return
  refused="$new_generation $new_hash"
  acknowledge rejected "$1" "$2"
}

# Applies the policy in the file $1, if it is whole, new and allowed.
take() {
  jq -e '(.generation | type == "number") and (.hash | type == "string") and (.settings | type == "object")' \
    "$1" >/dev/null 2>&1 || return 0
  new_generation=$(jq -r .generation "$1")
  new_hash=$(jq -r .hash "$1")
  [ "$new_generation $new_hash" = "$generation $hash" ] && return 0
  [ "$new_generation" -lt "$generation" ] && return 0
  # jq -S sorts keys; for settings without unusual numbers its output is canonical JSON.
  own_hash=$(jq -cSj .settings "$1" | sha256sum | cut -d ' ' -f 1)
  if [ "$own_hash" != "$new_hash" ]; then
    refuse wrong_hash "The hash is not that of the settings."
    return 0
  fi
  if ! jq -e --argjson bounds "$bounds" 'def share: rtrimstr("%") | tonumber;
      ($bounds["thresholds.ceiling"] // {}) as $bound | .settings.thresholds.ceiling as $ceiling
      | ($ceiling == null and (.settings.thresholds | has("ceiling") | not)) or $bound == {}
        or (($ceiling | type) == "string" and ($ceiling | share) >= ($bound.min // "0%" | share)
            and ($ceiling | share) <= ($bound.max // "100%" | share))' "$1" >/dev/null 2>&1; then
    refuse out_of_bounds "thresholds.ceiling is not within $bounds."
    return 0
  fi
  generation=$new_generation
  hash=$new_hash
  jq -c '{generation, settings}' "$1"
  if [ -n "$state" ] && [ "$1" != "$state" ]; then cp "$1" "$state.new" && mv "$state.new" "$state"; fi
  acknowledge applied "" ""
}

[ -n "$state" ] && [ -s "$state" ] && take "$state"
while :; do
  wait=$poll
  : >"$work/body"
  status=$(curl -sS -m 10 --max-filesize 1048576 -G "$PLIMSOLL_URL/api/v1/policy" \
    --data-urlencode "harness=$PLIMSOLL_HARNESS" -H "Authorization: Bearer $PLIMSOLL_KEY" \
    ${tag:+-H "If-None-Match: \"$tag\""} \
    -D "$work/head" -o "$work/body" -w '%{http_code}' 2>/dev/null) || status=000
  newest=$(sed -n 's/^plimsoll-policy-generation: *\([0-9]*\).*/\1/Ip' "$work/head" 2>/dev/null)
  case $status in
    200)
      take "$work/body"
      tag=
      [ "$newest" = "$generation" ] && tag=$hash ;;
    # The same hash under a newer generation: ask again for the whole answer.
    304) [ -n "$newest" ] && [ "$newest" != "$generation" ] && tag= && wait=0 ;;
    429 | 503)
      asked=$(sed -n 's/^retry-after: *\([0-9]*\).*/\1/Ip' "$work/head")
      wait=${asked:-$poll} ;;
  esac
  # In the background, so that a signal ends the wait.
  sleep "$wait" &
  wait $!
done
