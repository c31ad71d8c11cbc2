-- A ledger in which every column has a value that is not its default. `WORKSPACES` is the folder of workspaces.

INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments, environment, output_form,
                    max_seconds, idle_seconds, available, roles, skills, max_session_minutes, responsibilities, isolation,
                    created_at, updated_at)
VALUES ('boss', 'agents/boss.md', 'Read', 'default', 'claude-code', NULL, NULL, '[]', '{}', 'all', NULL, NULL, 1, '[]', '[]', NULL, '',
        NULL, 11, 12),
       ('worker', 'agents/worker.md', 'Read', 'default', 'claude-code', 'm', '/bin/true', '["x"]', '{"LANG":"C"}', 'last_line', 5, 6, 0,
        '["testing"]', '["rust"]', 7, 'r', 'masked', 13, 14);

INSERT INTO tools (name, target_agent, allowed_agents, created_at, updated_at, description, context_variables, handoff_instructions)
VALUES ('to_worker', 'worker', '["boss"]', 15, 16, 'd', '[{"name":"z","type":"object","required":false,"description":"v"}]', 'i');

INSERT INTO increments (id, state, round, created_at, updated_at, blocked_by, title, test_command, description)
VALUES ('inc-1', 'blocked', 2, 21, 22, 'b', 't', 'make test', 'd');

INSERT INTO tasks (number, id, status, created_at, updated_at, session_id, source_type, source_user_id, source_conversation_id,
                   agent_workspace, description, summary, requirements, acceptance_criteria, plan, context)
VALUES (1, 'task-1', 'active', 31, 32, 's', 'cli', 'me', 'c', 'WORKSPACES/task-1', 'd', 's', '["r"]', '["a"]', '["p"]', '{"v":1}');

INSERT INTO tasks (number, id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description, failure_message,
                   parent_number, master_number, plan_number, is_delegated, agent_role, specialist_tags, estimated_minutes, priority,
                   agent_context, handoff_instructions, is_context_own, is_asked_again, route_attempts, increment_number, stage, round,
                   waiting_reason, is_blocked, is_unsuited, waits_for)
VALUES (2, 'task-2', 'completed', 33, 34, 'api', 'me', 'WORKSPACES/task-1/sub', 'd', NULL, 1, 1, 1, 1, 'testing', '["rust"]', 30, 1,
        '{"k":1}', '{"n":1}', 1, 1, 2, 1, 'test', 2, NULL, 0, 0, NULL),
       (3, 'task-3', 'failed', 35, 36, 'api', 'me', 'WORKSPACES/task-3', 'd', 'f', NULL, NULL, NULL, 0, NULL, '[]', NULL, 2, '{}', '{}',
        0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, NULL),
       (4, 'task-4', 'pending', 37, 38, 'api', 'me', 'WORKSPACES/task-4', 'd', NULL, NULL, NULL, NULL, 0, 'testing', '[]', NULL, 2, '{}',
        '{}', 0, 0, 0, NULL, NULL, NULL, 'nobody', 0, 1, 'agent'),
       (5, 'task-5', 'waiting', 39, 40, 'api', 'me', 'WORKSPACES/task-5', 'd', NULL, NULL, NULL, NULL, 0, NULL, '[]', NULL, 2, '{}', '{}',
        0, 0, 0, NULL, NULL, NULL, 'look', 1, 0, 'person'),
       (7, 'task-7', 'active', 43, 44, 'api', 'me', 'WORKSPACES/task-1', 'd', NULL, 2, 1, 1, 1, NULL, '[]', NULL, 2, '{}', '{}', 0, 0, 0,
        NULL, NULL, NULL, NULL, 0, 0, NULL);

INSERT INTO tasks (number, id, status, created_at, updated_at, session_id, source_type, source_user_id, agent_workspace, description)
VALUES (6, 'task-6', 'waiting', 41, 42, 'sess', 'session', 'me', 'WORKSPACES/task-6', 'd');

INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome) VALUES (4, 1, 3, 'completed'), (4, 2, 5, 'any');

INSERT INTO handoffs (number, id, task_number, position, agent_name, from_agent, mode, started_at, completed_at, outcome, reason, output,
                      prompt, from_number, waiter_number, trace_id, parent_span_id, is_invoked, takes_control, asked_number,
                      counted_from_number, is_chat)
VALUES (1, 'h-1', 1, 1, 'boss', NULL, 'delegate', 51, NULL, NULL, NULL, '', 'p1', NULL, NULL, NULL, NULL, 1, 0, NULL, NULL, 1),
       (2, 'h-2', 2, 1, 'worker', 'boss', 'delegate', 52, 53, 'completed', 'r', 'o', 'p2', 1, 1, '0123456789abcdef0123456789abcdef',
        '0123456789abcdef', 1, 0, NULL, 1, 0),
       (3, 'h-3', 7, 1, 'boss', 'worker', 'transfer', 54, NULL, NULL, NULL, '', 'p3', 2, 1, NULL, NULL, 1, 1, 2, 1, 0),
       (4, 'h-4', 6, 1, 'worker', 'boss', 'session', 55, 56, 'completed', 'r', 'o', 'p4', NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0),
       (5, 'h-5', 5, 1, 'worker', NULL, 'delegate', 57, 58, 'failed', NULL, 'o', 'p5', NULL, NULL, NULL, NULL, 1, 0, NULL, NULL, 0);

UPDATE tasks SET counted_from_number = 1 WHERE number = 7;

INSERT INTO runs (id, handoff_number, attempt, state, outcome, queued_at, started_at, ended_at, cost_usd, usage, priority, session_id,
                  resumes, token_hash, claimed_in, followed_bytes, isolation, launched_at, max_seconds, idle_seconds, unproven_starts,
                  failing_since, last_error, denied_tools, followed_error_bytes)
VALUES ('r-1', 1, 1, 'running', NULL, 61, 62, NULL, NULL, NULL, 50, 'ses', 'res', zeroblob(32), '/data', 5, 'masked', 63, 64, 65, 1, 66,
        'e', '["Bash"]', 7),
       ('r-2', 2, 1, 'ended', 'failed', 67, 68, 69, NULL, NULL, 100, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL,
        '[]', 0),
       ('r-3', 2, 2, 'ended', 'completed', 70, 71, 72, 0.30000000000000004,
        '{"turns":3,"inputTokens":10,"outputTokens":20,"share":0.1234567890123456}', 100, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL,
        0, NULL, NULL, '[]', 0),
       ('r-4', 3, 1, 'queued', NULL, 73, NULL, NULL, NULL, NULL, 100, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, '[]',
        0);

INSERT INTO delegations (handoff_number, caller_number, task_number, is_awaited, delivered_at) VALUES (2, 1, 1, 1, 77);

INSERT INTO reports (handoff_number, result, reported_at, summary, details) VALUES (2, 'passed', 78, 's', '{"a":1}');

INSERT INTO sessions (id, task_number, created_at) VALUES ('sess', 6, 41);

INSERT INTO session_handoffs (session_number, handoff_number, from_agent, to_agent, harness_trace_id, history)
VALUES (1, 4, 'boss', 'worker', 'ht', '[{"role":"user","content":"x"}]');

INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, is_prompt, data, content)
VALUES (1, 1, 1, 81, 'user_message', 1, NULL, ''),
       (1, 7, 3, 82, 'handoff', 0, '{"fromAgent":"worker","toAgent":"boss","taskId":"task-7"}', 'c'),
       (1, 1, 1, 83, 'assistant_message', 0, NULL, 'said after the move');

INSERT INTO queue_messages (id, task_number, received_at, content, delivered_at, delivered_handoff_number, starts_handoff, is_prompt)
VALUES ('q-1', 1, 84, 'c', 85, 1, 1, 1), ('q-2', 1, 86, 'waits', NULL, NULL, 0, 0);

INSERT INTO attachments (id, task_number, filename, size, content_type, uploaded_at, stored_task_number, stored_id)
VALUES ('a-1', 1, 'a', 3, 'text/plain', 87, NULL, NULL), ('a-2', 2, 'a', 3, 'text/plain', 88, 1, 'a-1');

INSERT INTO requests (id, kind, state, priority, effort, created_at, updated_at, approved_at, attempts, is_stuck, withdrawn_at, lease_agent,
                      lease_expires_at, source_type, source_task_number, source_file, source_line, source_user_id, task_number,
                      handoff_number, is_job, job_id, agent_workspace, title, body, response)
VALUES ('req-1', 'fix', 'claimed', 1, 'M', 91, 92, 93, 1, 0, 94, 'boss', 95, 'file', NULL, '/notes.md', 7, NULL, 7, 3, 1, 'j',
        'WORKSPACES/task-1', 't', 'b', NULL),
       ('req-2', 'fix', 'done', 2, NULL, 96, 97, NULL, 0, 0, NULL, NULL, NULL, 'task', 1, NULL, NULL, 'me', NULL, NULL, 0, NULL, NULL,
        't', 'b', 'answer'),
       ('req-3', 'fix', 'needs', 0, NULL, 98, 99, NULL, 0, 1, NULL, NULL, NULL, 'person', NULL, NULL, NULL, 'me', NULL, NULL, 0, NULL,
        NULL, 't', 'b', NULL);

INSERT INTO requests (id, kind, state, priority, created_at, updated_at, approved_at, attempts, lease_agent, lease_expires_at, source_type,
                      source_user_id, claimant_number, title, body)
VALUES ('req-4', 'fix', 'claimed', 2, 108, 109, 110, 1, 'boss', 111, 'person', 'me', 1, 't', 'b');

INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason)
VALUES (1, NULL, 'needs', 'file', 101, 1, NULL), (3, NULL, 'needs', 'me', 102, 0, NULL),
       (1, 'needs', 'delegated', 'operator', 103, 0, 'r'), (2, NULL, 'needs', 'me', 104, 0, NULL),
       (1, 'delegated', 'claimed', 'dispatcher', 105, 0, NULL), (2, 'needs', 'done', 'operator', 106, 0, NULL),
       (4, NULL, 'needs', 'me', 107, 0, NULL), (4, 'needs', 'next', 'operator', 108, 0, NULL), (4, 'next', 'claimed', 'boss', 109, 0, NULL);

INSERT INTO request_recoveries (request_number, recovered_at, earlier_run_id, reason, action) VALUES (3, 107, 'r-2', 'r', 'a');

INSERT INTO request_tags (request_number, file, state, recoveries, transitions, is_ending) VALUES (1, '/notes.md', 'delegated', 1, 2, 1);

INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, start_command, poll_command, poll_seconds)
VALUES ('fix', 'boss', 'async', 1.5, 0, 1, 4, '["a"]', '["b"]', 9), ('docs', 'boss', 'agent', 2.5, 1, 0, 3, NULL, NULL, 30);

INSERT INTO alerts (id, task_number, raised_at, raised_by, resolved_at, resolved_by, file, line, is_active_in_file, message)
VALUES ('al-1', 1, 111, 'me', 112, 'operator', '/notes.md', 3, 1, 'm'), ('al-2', NULL, 113, 'me', NULL, NULL, '/notes.md', 4, 0, 'm');

INSERT INTO mail (id, type, sender, is_verified, addressed_to, addressed_cc, thread_id, task_number, handoff_number, handoff_type,
                  previous_attempts, urgency, ack_due_at, sent_at, subject, context, body)
VALUES ('m-1', 'note', 'boss', 1, '["worker"]', '["operator"]', 'm-1', 1, 2, 'a_to_b', 1, 'high', 121, 122, 's', '{"k":1}', 'b');

INSERT INTO mail_recipients (mail_number, recipient, is_cc, ack_due_at, delivered_at, read_at, acknowledged_at, delivered_handoff_number)
VALUES (1, 'worker', 0, 121, 123, 124, 125, 2), (1, 'operator', 1, NULL, NULL, NULL, NULL, NULL);

INSERT INTO events (task_number, handoff_number, request_number, occurred_at, type, data)
VALUES (NULL, NULL, 1, 131, 'request_created', '{"kind":"fix"}'), (1, NULL, NULL, 132, 'task_created', '{}'),
       (NULL, NULL, NULL, 133, 'agent_created', '{"name":"boss"}'), (2, NULL, NULL, 134, 'task_created', '{}'),
       (1, 1, NULL, 135, 'agent_handoff_started', '{"agentName":"boss"}'), (NULL, NULL, 1, 136, 'request_approved', '{}'),
       (7, 3, 1, 137, 'request_claimed', '{}'), (2, 2, NULL, 138, 'agent_handoff_completed', '{}');

INSERT INTO idempotency_keys (key, fingerprint, created_at, answer) VALUES ('k', zeroblob(32), 141, '{}');

UPDATE installation SET seeded_at = 151, ready_at = 152, routes_planted_at = 153, specialists_planted_at = 154, routes_chosen_at = 155,
                        clock_boot_id = 'b', clock_offset = 156, data_dir = '/data';
