#!/bin/sh
# Needs only a shell: the container may get Node later. The key is no option, which would end in the image: the command reads it
# when the container starts.
set -eu

case "${URL:-}" in
  http://* | https://*) ;;
  *)
    echo "The option url must be an http:// or https:// address, not '${URL:-}'." >&2
    exit 1
    ;;
esac
case "$URL" in
  *[!A-Za-z0-9._~:/%-]*)
    echo "The option url has a character that no address of a server has: '$URL'." >&2
    exit 1
    ;;
esac

mkdir -p /usr/local/bin
cat >/usr/local/bin/plimsoll-connect <<END
#!/bin/sh
# Never keeps the container from starting.
export PLIMSOLL_URL="\${PLIMSOLL_URL:-$URL}" npm_config_omit=optional
if [ -z "\${PLIMSOLL_INGEST_KEY:-}" ]; then
  echo "Plimsoll: set PLIMSOLL_INGEST_KEY to a key with the scope ingest to connect the agents of this container."
elif ! command -v npx >/dev/null; then
  echo "Plimsoll: connecting agents needs Node."
else
  npx --yes plimsoll@0.1.0 connect --yes --no-wait || echo "Plimsoll: the agents are not connected."
fi
END
chmod 755 /usr/local/bin/plimsoll-connect
