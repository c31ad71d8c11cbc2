#!/usr/bin/env bash
# Hands a task to an agent, waits until the agent has finished, and prints its final message. If the agent passes control
# to another one, that one's end is waited for.
#
#   scripts/agent/handoff.sh TASK-ID AGENT-NAME PROMPT      (PROMPT may be -, for standard input)
#
# Only the final message goes to standard output; notices go to standard error. Exits 1 if the hand-off fails.
# CHORUS_URL names the server, CHORUS_TOKEN the token to show. Needs curl and jq.
set -euo pipefail

say() { printf 'handoff: %s\n' "$*" >&2; }

if [ $# -ne 3 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
for tool in curl jq; do
    command -v "$tool" >/dev/null || { say "$tool is not installed"; exit 1; }
done

url=${CHORUS_URL:-http://localhost:8080}
task=$(jq -rn --arg id "$1" '$id | @uri')
agent=$2
patience=300 # seconds that the server may be away, for a restart

# The token goes in by a file descriptor: arguments can be seen by everybody.
curl_() {
    if [ -n "${CHORUS_TOKEN:-}" ]; then
        curl -sS -K <(printf 'header = "Authorization: Bearer %s"\n' "$CHORUS_TOKEN") "$@"
    else
        curl -sS "$@"
    fi
}

# Sends a request until the server answers, and sets $status and $body.
ask() {
    local answer began=$SECONDS
    until answer=$(curl_ -w '\n%{http_code}' "$@" 2>"$errors"); do
        if [ $((SECONDS - began)) -ge "$patience" ]; then
            say "cannot reach a Chorus server at $url: $(cat "$errors")"
            exit 1
        fi
        sleep 0.5
    done
    status=${answer##*$'\n'}
    body=${answer%$'\n'*}
}

refuse() {
    say "$(jq -r '.error.message // "the server answered with an error"' <<<"$body" 2>/dev/null || echo "status $status")"
    exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
errors=$folder/errors
request=$folder/request

# The prompt goes through files and pipes, never through an argument: those are limited.
if [ "$3" = - ]; then cat; else printf '%s' "$3"; fi |
    jq -Rs --arg agent "$agent" '{agentName: $agent, prompt: .}' >"$request"

# With a key, a request whose answer was lost can be sent again and is done once.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
ask -X POST -H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary "@$request" \
    "$url/api/tasks/$task/handoff"
[ "$status" = 200 ] || refuse

# An agent that hands on its own task waits on the child task that it gets back.
task=$(jq -r '.data.id' <<<"$body")
handoff=$(jq -r '.data.agentChain[-1].id' <<<"$body")
say "$(jq -r '.data.currentAgent' <<<"$body") works on $task (hand-off $handoff)"

# Waits until the hand-off has ended; if the agent passed control on, until that one has, and so on.
while :; do
    ask "$url/api/handoffs/$handoff?wait=25"
    [ "$status" = 200 ] || refuse
    [ "$(jq -r '.data.outcome != null' <<<"$body")" = true ] || continue
    next=$(jq -r '.data.transferredTo // empty' <<<"$body")
    [ -n "$next" ] || break
    handoff=$next
    ask "$url/api/handoffs/$handoff"
    [ "$status" = 200 ] || refuse
    say "→ $(jq -r '.data.agentName' <<<"$body") goes on (hand-off $handoff)"
done

if [ "$(jq -r '.data.outcome' <<<"$body")" != completed ]; then
    say "$(jq -r '.data | "\(.outcome): \(.output)"' <<<"$body")"
    exit 1
fi
jq -r '.data.output' <<<"$body"
