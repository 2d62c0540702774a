#!/bin/sh
# The entry of the image: makes the API keys that are missing, then becomes `turnkeeper`, which gets the signals.
#
# Keys are written to files that one user can read and never to the log, which others may collect. The file of keys is
# moved into its place last: when a start is cut off before that, the next one makes the keys anew.
set -eu

say() {
    printf 'turnkeeper: %s\n' "$*" >&2
}

make_first_key() {
    folder=$(dirname "$TURNKEEPER_API_KEYS_FILE")
    first=$folder/first-api-key
    unfinished=$folder/.first-start
    rm -rf "$unfinished"
    mkdir -m 0700 "$unfinished"
    # It says on standard error that it made a file which is about to move, so only its failure is shown.
    if ! (umask 077 && turnkeeper keys add first --scopes turns,approve --file "$unfinished/keys.json" \
        >"$unfinished/key" 2>"$unfinished/said"); then
        cat "$unfinished/said" >&2
        exit 1
    fi
    mv "$unfinished/key" "$first"
    mv "$unfinished/keys.json" "$TURNKEEPER_API_KEYS_FILE"
    rm -rf "$unfinished"
    say "there was no file of keys, so this first start made $TURNKEEPER_API_KEYS_FILE with one key, named first"
    say "the key itself is in the file $first of this container (docker compose exec turnkeeper cat $first)"
}

# For Prometheus, which runs as another user of the same group.
make_metrics_key() {
    unfinished=$METRICS_KEY_FILE.unfinished
    rotate=
    if turnkeeper keys list --json | grep -q '"name": *"metrics"'; then
        rotate=--rotate
    fi
    if ! said=$( (umask 027 && turnkeeper keys add metrics --scopes admin $rotate >"$unfinished") 2>&1); then
        say "$METRICS_KEY_FILE could not be made: $said"
        exit 1
    fi
    mv "$unfinished" "$METRICS_KEY_FILE"
    say "made a key of the scope admin for GET /metrics in $METRICS_KEY_FILE"
}

if [ "${1:-}" = serve ]; then
    if [ -n "${TURNKEEPER_API_KEYS_FILE:-}" ] && [ ! -e "$TURNKEEPER_API_KEYS_FILE" ]; then
        make_first_key
    fi
    if [ -n "${METRICS_KEY_FILE:-}" ] && [ ! -e "$METRICS_KEY_FILE" ]; then
        make_metrics_key
    fi
fi
exec turnkeeper "$@"
