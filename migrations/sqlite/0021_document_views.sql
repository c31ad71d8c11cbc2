-- Views under the names that programs of other systems use, for operators who know those.

-- A move of a session, with the whole conversation.
CREATE VIEW agent_handoffs AS
SELECT h.id,
       s.id AS session_id,
       m.from_agent,
       m.to_agent,
       h.reason,
       m.history AS conversation_history,
       m.harness_trace_id,
       h.prompt AS user_intent,
       strftime('%Y-%m-%d %H:%M:%f', h.started_at / 1000.0, 'unixepoch') AS created_at
  FROM session_handoffs m
  JOIN sessions s ON s.number = m.session_number
  JOIN handoffs h ON h.number = m.handoff_number;

-- A message of a task. `data` is there where control moved: from whom, to whom, with which variables.
CREATE VIEW task_messages AS
SELECT m.number AS id,
       t.id AS task_id,
       c.id AS master_task_id,
       h.id AS handoff_id,
       CASE WHEN m.data IS NOT NULL THEN m.data ->> 'fromAgent'
            WHEN m.is_prompt = 0 THEN h.agent_name
            WHEN h.mode = 'delegate' THEN h.from_agent END AS agent_name,
       m.type,
       CASE m.is_prompt WHEN 0 THEN m.content ELSE h.prompt END AS content,
       m.data,
       strftime('%Y-%m-%d %H:%M:%f', m.occurred_at / 1000.0, 'unixepoch') AS created_at
  FROM messages m
  JOIN tasks c ON c.number = m.chain_number
  JOIN tasks t ON t.number = m.task_number
  LEFT JOIN handoffs h ON h.number = m.handoff_number;

-- The context variables of a task, and the metadata among them.
CREATE VIEW task_context AS
SELECT t.id AS task_id,
       coalesce(c.id, t.id) AS master_task_id,
       p.id AS parent_id,
       t.context,
       t.context ->> '$._handoff_from' AS _handoff_from,
       t.context ->> '$._handoff_tool' AS _handoff_tool,
       t.context ->> '$._handoff_instructions' AS _handoff_instructions,
       t.context ->> '$._handoff_chain' AS _handoff_chain,
       strftime('%Y-%m-%d %H:%M:%f', t.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', t.updated_at / 1000.0, 'unixepoch') AS updated_at
  FROM tasks t
  LEFT JOIN tasks c ON c.number = t.master_number
  LEFT JOIN tasks p ON p.number = t.parent_number;
