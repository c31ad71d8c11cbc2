#!/usr/bin/env bash
# Hands a task to an agent, waits until the agent has finished, and prints its final message. If the agent transfers control
# to another agent, the script waits for that agent too.
#
#   scripts/agent/handoff.sh TASK-ID AGENT-NAME PROMPT      (PROMPT may be -, for standard input)
#
# Only the final message goes to standard output; notices go to standard error. Exits 1 if the hand-off fails.
# CHORUS_URL is the server's URL, CHORUS_TOKEN the token to send. Needs curl and jq.
set -euo pipefail

say() { printf 'handoff: %s\n' "$*" >&2; }

if [ $# -ne 3 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
for tool in curl jq; do
    command -v "$tool" >/dev/null || { say "$tool is not installed; install it and try again"; exit 1; }
done

url=${CHORUS_URL:-http://localhost:8080}
task=$(jq -rn --arg id "$1" '$id | @uri')
agent=$2
patience=300 # seconds to wait for a server that restarts

# The token is passed through a file descriptor, because every user can see the arguments of a process.
curl_() {
    if [ -n "${CHORUS_TOKEN:-}" ]; then
        curl -sS -K <(printf 'header = "Authorization: Bearer %s"\n' "$CHORUS_TOKEN") "$@"
    else
        curl -sS "$@"
    fi
}

# Sends a request until the server answers, and sets $status and $body.
ask() {
    local answer began=$SECONDS told=-15
    until answer=$(curl_ -w '\n%{http_code}' "$@" 2>"$errors"); do
        if [ $((SECONDS - began)) -ge "$patience" ]; then
            say "no Chorus server at $url: $(cat "$errors"); start one with \`chorus serve\`, or set CHORUS_URL"
            exit 1
        fi
        if [ $((SECONDS - began - told)) -ge 15 ]; then
            told=$((SECONDS - began))
            say "no answer from $url: $(cat "$errors"); waiting for at most $((patience - told)) s"
        fi
        sleep 0.5
    done
    status=${answer##*$'\n'}
    body=${answer%$'\n'*}
}

refuse() {
    say "$(jq -r '.error.message // "the server returned an error"' <<<"$body" 2>/dev/null || echo "status $status")"
    exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
errors=$folder/errors
request=$folder/request

# The prompt is passed through files and pipes, because the size of arguments is limited.
if [ "$3" = - ]; then cat; else printf '%s' "$3"; fi |
    jq -Rs --arg agent "$agent" '{agentName: $agent, prompt: .}' >"$request"

# The idempotency key makes it safe to repeat a request whose answer was lost.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
ask -X POST -H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary "@$request" \
    "$url/api/tasks/$task/handoff"
[ "$status" = 200 ] || refuse

# If an agent hands off its own task, the server returns a child task to wait for.
task=$(jq -r '.data.id' <<<"$body")
handoff=$(jq -r '.data.agentChain[-1].id' <<<"$body")
say "$(jq -r '.data.currentAgent' <<<"$body") works on $task (hand-off $handoff)"

# Wait until the hand-off has ended, and after a transfer of control also the next one, and so on.
told=$SECONDS
while :; do
    ask "$url/api/handoffs/$handoff?wait=15"
    [ "$status" = 200 ] || refuse
    if [ "$(jq -r '.data.outcome != null' <<<"$body")" != true ]; then
        # A program that sees no output for long may stop this script.
        if [ $((SECONDS - told)) -ge 30 ]; then
            say "$(jq -r '"\(.data.agentName) has been working for \((.meta.timestamp - .data.startedAt) / 60000 | floor) min" +
                ((.data.live.lastProgressAt // null) as $at |
                    if $at then "; last progress \((.meta.timestamp - $at) / 1000 | floor) s ago" else "" end)' <<<"$body")"
            told=$SECONDS
        fi
        continue
    fi
    next=$(jq -r '.data.transferredTo // empty' <<<"$body")
    [ -n "$next" ] || break
    handoff=$next
    ask "$url/api/handoffs/$handoff"
    [ "$status" = 200 ] || refuse
    say "→ $(jq -r '.data.agentName' <<<"$body") continues (hand-off $handoff)"
done

# Work that the agent asked for, and whose answer it did not wait for.
jq -r '.data | .agentName as $agent | (.unansweredHandoffs // [])[] |
    "handoff: \($agent) ended without the answer of \(.agentName) on task \(.taskId)"' <<<"$body" >&2

if [ "$(jq -r '.data.outcome' <<<"$body")" != completed ]; then
    say "$(jq -r '.data | "\(.outcome): \(.output)"' <<<"$body")"
    exit 1
fi
jq -r '.data.output' <<<"$body"
