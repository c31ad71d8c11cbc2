// Agents: the form to add or edit one, its figures, and what it works on now.

import { p, patch, put, remove } from '../lib/api.js';
import { navigate } from '../lib/router.js';
import { snapshot } from '../lib/store.js';
import { h } from '../lib/view.js';
import { badge } from './badges.js';
import { ask, openDialog } from './dialog.js';
import { Form } from './form.js';
import { toast } from './toast.js';

/** @typedef {{ name: string, specPath: string, allowedTools: string, permissionMode: string, provider: string, model: string | null, program: string | null,
 *   arguments: string[], environment: Record<string, string>, outputForm: string, maxSeconds: number | null, idleSeconds: number | null, available: boolean, roles: string[],
 *   skills: string[], maxSessionDuration: number | null, responsibilities: string, isolation: string | null }} Agent */
/** @typedef {{ agentName: string, program: string, programPath: string | null, specProblem: string | null }} Setup */
/** @typedef {{ handoffs: number, ended: number, completed: number, costUsd: number | null }} Figures */

const isAgentEvent = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => /^agent_(created|changed|deleted)$/.test(event.eventType);

/** Whether each agent's program and spec are found. */
export const setups = () => snapshot(p`/api/setup`, { concerns: isAgentEvent });

/** The tasks on which agents work now, with the agents of delegated tasks. */
export const work = () => snapshot(`${p`/api/tasks`}?status=active&view=summary&newest=true&limit=1000`, {
  concerns: (event) => event.eventType.startsWith('agent_handoff_') || event.eventType === 'status_changed' });

/** How all hand-offs went. */
export const analytics = () => snapshot(p`/api/analytics/handoffs`, { concerns: (event) => /^agent_handoff_(?!started)/.test(event.eventType) });

/** The figures of one agent: the sum over those who handed work to it. @param {any} data @param {string} name @returns {Figures} */
export function figuresOf(data, name) {
  const sum = { handoffs: 0, ended: 0, completed: 0, costUsd: /** @type {number | null} */ (null) };
  for (const pair of data?.pairs ?? []) {
    if (pair.toAgent !== name) continue;
    sum.handoffs += pair.handoffs;
    sum.ended += pair.ended - (pair.movedOn ?? 0);
    sum.completed += pair.completed;
    if (pair.costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + pair.costUsd;
  }
  return sum;
}

/** @param {Figures} figures */
export const rate = ({ ended, completed }) => (ended ? `${Math.round((completed / ended) * 100)} %` : '–');

/** Whether the program and the spec are found. @param {Setup | undefined} setup */
export function setupBadges(setup) {
  if (!setup) return null;
  const where = setup.programPath ?? (setup.program ? `${setup.program} is not on the server's PATH. Install it, or set the agent's program.` : 'The agent has no program.');
  return h('span', { class: 'words' }, h('span', { title: where }, setup.programPath ? badge('found', 'good') : badge('program missing', 'bad')),
    setup.specProblem && h('span', { title: setup.specProblem }, badge('spec missing', 'bad')));
}

/** The switch for hand-offs. @param {import('../lib/view.js').Self} self */
export function Availability(self) {
  let isBusy = false;
  const set = async (/** @type {Agent} */ agent, /** @type {boolean} */ available) => {
    isBusy = true;
    self.update();
    try {
      await patch(p`/api/agents/${agent.name}`, { available });
      toast(available ? `${agent.name} gets work again` : `${agent.name} gets no new work`);
    } finally {
      isBusy = false;
      self.update();
    }
  };
  return (/** @type {{ agent: Agent, failed: (error: any) => void }} */ { agent, failed }) => h('button', {
    type: 'button', role: 'switch', class: 'switch', 'aria-checked': String(agent.available), 'aria-busy': isBusy ? 'true' : null, 'aria-label': `${agent.name} is available`,
    title: agent.available ? 'Gets hand-offs' : 'Gets no hand-offs', onclick: () => { if (!isBusy) set(agent, !agent.available).catch(failed); },
  }, h('span', { class: 'switch-knob', 'aria-hidden': 'true' }));
}

const PROVIDERS = [{ value: 'claude-code', label: 'Claude Code' }, { value: 'codex', label: 'Codex' }, { value: 'opencode', label: 'OpenCode' }, { value: 'gemini', label: 'Gemini' }, { value: 'command', label: 'Command: a program of yours' }];
const ROLES = ['implementation', 'testing', 'fixing', 'verification'];

const list = (/** @type {string} */ text) => (text ?? '').split(/[\s,]+/).filter(Boolean);
const lines = (/** @type {string} */ text) => (text ?? '').split('\n').filter((line) => line.trim());
const number = (/** @type {any} */ text) => (text === '' || text === null || text === undefined ? null : Number(text));

/** The agent as the texts of the form. @param {Partial<Agent>} agent @returns {Record<string, any>} */
const toForm = (agent) => ({ ...agent, arguments: (agent.arguments ?? []).join('\n'), environment: Object.entries(agent.environment ?? {}).map(([name, value]) => `${name}=${value}`).join('\n'),
  roles: (agent.roles ?? []).join(' '), skills: (agent.skills ?? []).join(' '), isolation: agent.isolation ?? '' });

/** @param {Record<string, any>} form */
const fromForm = (form) => ({
  specPath: form.specPath ?? '', allowedTools: form.allowedTools ?? '', permissionMode: form.permissionMode || 'default', provider: form.provider, model: form.model || null, program: form.program || null,
  arguments: lines(form.arguments), environment: Object.fromEntries(lines(form.environment).map((line) => [line.slice(0, line.includes('=') ? line.indexOf('=') : undefined).trim(), line.includes('=') ? line.slice(line.indexOf('=') + 1) : ''])),
  outputForm: form.outputForm || 'all', maxSeconds: number(form.maxSeconds), idleSeconds: number(form.idleSeconds), roles: list(form.roles), skills: list(form.skills),
  maxSessionDuration: number(form.maxSessionDuration), responsibilities: form.responsibilities ?? '', isolation: form.isolation || null,
});

/** @param {import('../lib/view.js').Self} _self */
function AgentForm(_self) {
  return (/** @type {any} */ props) => {
    const { agent } = props;
    const before = agent && fromForm(toForm(agent));
    return h('div', { class: 'two' }, h(Form, {
      ...props, title: agent ? `Edit ${agent.name}` : 'Add an agent', action: agent ? 'Save' : 'Add', value: agent ? toForm(agent) : { provider: 'claude-code' },
      fields: [
        ...(agent ? [] : [{ name: 'name', label: 'Name', required: true, autofocus: true, hint: 'Letters, digits, -, _ and dots. Agents and people address it by this name.' }]),
        { name: 'responsibilities', label: 'Responsibilities', hint: 'One sentence, for people and for other agents.' },
        { name: 'provider', label: 'Provider', kind: 'select', options: PROVIDERS },
        { name: 'specPath', label: 'Spec', placeholder: 'agents/NAME.md', hint: 'The Markdown file with the system prompt, relative to the data directory.' },
        { name: 'model', label: 'Model', hint: 'Empty for the provider’s default.' },
        { name: 'program', label: 'Program', hint: 'Empty for the provider’s own. A program of yours needs one.' },
        { name: 'arguments', label: 'Arguments', kind: 'area', rows: 2, hint: 'One a line.' },
        { name: 'roles', label: 'Roles', hint: `The router gives it the tasks of its roles: ${ROLES.join(', ')}, or words of yours.` },
        { name: 'skills', label: 'Skills', hint: 'For example: rust sql review' },
        { name: 'allowedTools', label: 'Allowed tools', hint: 'What its program may do, for example: Read Glob Grep Bash' },
        { name: 'permissionMode', label: 'Permission mode', placeholder: 'default' },
        { name: 'maxSeconds', label: 'Longest run, in seconds', kind: 'number', min: 1, hint: 'Empty for the server’s limit.' },
        { name: 'idleSeconds', label: 'Longest silence, in seconds', kind: 'number', min: 1 },
        { name: 'maxSessionDuration', label: 'Upper limit of a run, in minutes', kind: 'number', min: 1 },
        { name: 'outputForm', label: 'Final message in the output', placeholder: 'all', hint: 'For a program of yours: all, last_line or json:FIELD.' },
        { name: 'environment', label: 'Environment', kind: 'area', rows: 2, hint: 'NAME=value, one a line. No secrets: everybody who reads agents sees them.' },
        { name: 'isolation', label: 'Isolation', kind: 'select', optional: 'as the server says', options: ['none', 'masked'] },
      ],
      submit: async (/** @type {any} */ value) => {
        const given = /** @type {Record<string, any>} */ (fromForm(value));
        if (agent) {
          const changed = Object.fromEntries(Object.entries(given).filter(([name, now]) => JSON.stringify(now) !== JSON.stringify(before[name])));
          if (Object.keys(changed).length) await patch(p`/api/agents/${agent.name}`, changed);
          toast(`${agent.name} saved`);
          return agent;
        }
        if (!given.specPath) delete given.specPath;
        const { data } = await put(p`/api/agents/${value.name ?? ''}`, given);
        toast(`${data.name} added`);
        return data;
      },
    }));
  };
}

/** Opens the form for a new agent. @returns {Promise<Agent | undefined>} */
export const addAgent = () => openDialog(AgentForm, { wide: true });
/** @param {Agent} agent */
export const editAgent = (agent) => openDialog(AgentForm, { agent, wide: true });

/** @param {Agent} agent */
export async function deleteAgent(agent) {
  if (!await ask({ title: `Delete ${agent.name}?`, text: 'Its earlier hand-offs stay. An agent that works, or that a tool or a kind of request refers to, cannot be deleted.', action: 'Delete', danger: true })) return;
  await remove(p`/api/agents/${agent.name}`);
  toast(`${agent.name} deleted`);
  navigate('/agents');
}
