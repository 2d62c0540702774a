# Send a message once, with an API key, however often it has to be tried: sh keyed.sh /sessions/ses_… '{"content": "Hi"}'
set -eu
url=${TURNKEEPER_URL:-http://127.0.0.1:8000}
# The same key for each try: what was begun is not begun twice.
key=$(date +%s)-$$
# An answer that broke off within its head is an empty one to curl.
until answer=$(curl -sS -H "Authorization: Bearer $TURNKEEPER_API_KEY" -H "Idempotency-Key: $key" \
  -H 'Content-Type: application/json' -H 'Accept: application/json' -d "$2" "$url$1/turns") && [ -n "$answer" ]; do
  sleep 2
done
printf '%s\n' "$answer"
