-- The least rights that the work of each default agent needs. An agent that somebody has changed stays as it is.

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Edit(./**) Write(./**) Bash', permission_mode = 'acceptEdits'
 WHERE name = 'developer' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(git diff *) Bash(git log *) Bash(git show *) Bash(git status *)', permission_mode = 'default'
 WHERE name = 'developer-review' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Bash', permission_mode = 'default'
 WHERE name = 'qa' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)', permission_mode = 'default'
 WHERE name = 'planner' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)', permission_mode = 'default'
 WHERE name = 'orchestrator' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Edit(./**) Write(./**) Bash', permission_mode = 'acceptEdits'
 WHERE name = 'implementation-specialist' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Bash', permission_mode = 'default'
 WHERE name = 'testing-specialist' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Edit(./**) Write(./**) Bash', permission_mode = 'acceptEdits'
 WHERE name = 'fixing-specialist' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)'
   AND permission_mode = 'bypassPermissions';

UPDATE agents
   SET allowed_tools = 'Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(git diff *) Bash(git log *) Bash(git show *) Bash(git status *) Bash(cargo test *) Bash(go test *) Bash(gradle test *) Bash(./gradlew test *) Bash(make check *) Bash(make test *) Bash(mvn test *) Bash(npm test *) Bash(npm run test *) Bash(pnpm test *) Bash(pytest *) Bash(python -m pytest *) Bash(python3 -m pytest *) Bash(yarn test *)', permission_mode = 'default'
 WHERE name = 'verification-specialist' AND updated_at = created_at AND provider = 'claude-code'
   AND allowed_tools = 'Read Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(git diff *) Bash(git log *) Bash(git show *) Bash(git status *)'
   AND permission_mode = 'default';
