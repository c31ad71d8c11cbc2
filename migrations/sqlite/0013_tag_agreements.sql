-- How many transitions its request had when the tag and the request agreed last. The transitions after that are those that a reading of
-- the file may not know yet.
ALTER TABLE request_tags ADD COLUMN transitions INTEGER NOT NULL DEFAULT 0 CHECK (transitions >= 0);

UPDATE request_tags
   SET transitions = (SELECT count(*) FROM request_transitions m
                       WHERE m.request_number = request_tags.request_number
                         AND m.number <= (SELECT max(l.number) FROM request_transitions l
                                           WHERE l.request_number = request_tags.request_number
                                             AND l.to_state = request_tags.state));

-- Whether the tag says `done` while the agent of the request still runs, so that its final message becomes the response.
ALTER TABLE request_tags ADD COLUMN is_ending INTEGER NOT NULL DEFAULT 0 CHECK (is_ending = 0 OR is_ending = 1);
