# Send a message and print its events as they come: sh stream.sh '{"content": "Why is the sky blue?"}'
set -eu
url=${TURNKEEPER_URL:-http://127.0.0.1:8000}
session=$(curl -sS -o /dev/null -D - -X POST "$url/sessions" | sed -n 's/^[Ll]ocation: \([^[:space:]]*\).*/\1/p')
curl -sS --no-buffer --fail-with-body -H 'Content-Type: application/json' -d "$1" "$url$session/turns"
