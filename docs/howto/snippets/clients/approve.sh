# Ask before a call runs: sh approve.sh '{"content": "Close the road."}'
set -eu
url=${TURNKEEPER_URL:-http://127.0.0.1:8000}
post() { curl -sS --fail-with-body -H 'Content-Type: application/json' -H 'Accept: application/json' -d "$2" "$url$1"; }
id() { sed 's/^{"id":"\([^"]*\)".*/\1/'; }
member() { printf '%s' "$turn" | sed "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/"; }
session=/sessions/$(post /sessions '{}' | id)
turn=$(post "$session/turns" "$1")
printf '%s\nRun it? [y/N] ' "$turn"
read -r answer
[ "$answer" = y ] && approved=true || approved=false
# One call waits here; where several do, `pending` has a number and a digest for each.
decision="{\"call\": $(member call), \"digest\": \"$(member digest)\", \"approved\": $approved}"
post "$session/turns/$(printf '%s' "$turn" | id)/decisions" "{\"decisions\": [$decision]}"
