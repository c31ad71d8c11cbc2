// Hand-off tools: the function definition that a model sees, the builder for context variables, and the choice of agents that may use one.

import { p, remove } from '../lib/api.js';
import { navigate } from '../lib/router.js';
import { snapshot } from '../lib/store.js';
import { h } from '../lib/view.js';
import { Button } from './button.js';
import { ask } from './dialog.js';
import { toast } from './toast.js';

/** @typedef {{ name: string, type: string, required: boolean, description: string }} Variable */
/** @typedef {{ name: string, description: string, targetAgent: string, contextVariables: Variable[], handoffInstructions: string, allowedAgents: string[] | null }} Tool */

const TYPES = ['string', 'number', 'boolean', 'object', 'array'];

/** No tool can have this name: names have no hyphen. */
export const NEW_TOOL = 'new-tool';

export const tools = () => snapshot(p`/api/tools`, { concerns: (event) => event.eventType.startsWith('tool_') });

/** What a model gets for a tool, as `GET /api/agents/{name}/tools` lists it. @param {Tool} tool */
export const definitionOf = (tool) => ({ type: 'function', function: { name: tool.name, description: tool.description, parameters: {
  type: 'object',
  properties: Object.fromEntries(tool.contextVariables.map((one) => [one.name, { type: one.type, description: one.description }])),
  required: tool.contextVariables.filter((one) => one.required).map((one) => one.name),
} } });

/** @param {Tool} tool */
export async function deleteTool(tool) {
  if (!await ask({ title: `Delete ${tool.name}?`, text: `Agents can no longer pass control to ${tool.targetAgent} with it. Earlier hand-offs stay.`, action: 'Delete', danger: true })) return;
  await remove(p`/api/tools/${tool.name}`);
  toast(`${tool.name} deleted`);
  navigate('/tools');
}

/**
 * The builder for context variables: `h(Variables, { id, variables, errors, change })`. `errors` has the message for `contextVariables[0].name`.
 * @param {import('../lib/view.js').Self} _self
 */
export function Variables(_self) {
  const focus = (/** @type {string} */ id) => setTimeout(() => document.getElementById(id)?.focus(), 60);
  return (/** @type {{ id: string, variables: Variable[], errors: Map<string | null, string>, change: (variables: Variable[]) => void }} */ { id, variables, errors, change }) => {
    const set = (/** @type {number} */ at, /** @type {Partial<Variable>} */ given) => change(variables.map((one, i) => (i === at ? { ...one, ...given } : one)));
    const move = (/** @type {number} */ at, /** @type {number} */ step) => {
      const to = at + step;
      if (to < 0 || to >= variables.length) return;
      const moved = [...variables];
      [moved[at], moved[to]] = [moved[to], moved[at]];
      change(moved);
      focus(`${id}-${to}-name`);
    };
    const add = () => {
      change([...variables, { name: '', type: 'string', required: true, description: '' }]);
      focus(`${id}-${variables.length}-name`);
    };
    const row = (/** @type {Variable} */ one, /** @type {number} */ at) => {
      const error = (/** @type {string} */ name) => errors.get(`contextVariables[${at}].${name}`) ?? null;
      const said = ['name', 'type', 'required', 'description'].map(error).filter(Boolean).concat(errors.get(`contextVariables[${at}]`) ?? []);
      const common = (/** @type {string} */ name, /** @type {string} */ label) => ({
        id: `${id}-${at}-${name}`, name: `contextVariables[${at}].${name}`, 'aria-label': `${label} of variable ${at + 1}`, 'aria-invalid': error(name) ? 'true' : null, 'aria-describedby': said.length ? `${id}-${at}-error` : null });
      return h('li', { key: at, class: 'variable', 'aria-label': `Variable ${at + 1}`, onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const step = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        move(at, step);
      } },
      h('input', { ...common('name', 'Name'), type: 'text', class: 'mono', placeholder: 'name', value: one.name, maxlength: 64, autocomplete: 'off', spellcheck: 'false', oninput: (/** @type {any} */ event) => set(at, { name: event.target.value }) }),
      h('select', { ...common('type', 'Type'), value: one.type, onchange: (/** @type {any} */ event) => set(at, { type: event.target.value }) }, TYPES.map((type) => h('option', { key: type, value: type }, type))),
      h('label', { class: 'row variable-required' }, h('input', { ...common('required', 'Required'), 'aria-label': null, type: 'checkbox', checked: one.required, onchange: (/** @type {any} */ event) => set(at, { required: event.target.checked }) }), 'required'),
      h('div', { class: 'row variable-moves' },
        h(Button, { label: `Move variable ${at + 1} up`, icon: 'up', iconOnly: true, small: true, kind: 'quiet', hint: 'Up (Alt+↑)', disabled: at === 0, run: () => move(at, -1) }),
        h(Button, { label: `Move variable ${at + 1} down`, icon: 'down', iconOnly: true, small: true, kind: 'quiet', hint: 'Down (Alt+↓)', disabled: at === variables.length - 1, run: () => move(at, 1) }),
        h(Button, { label: `Remove variable ${at + 1}`, icon: 'close', iconOnly: true, small: true, kind: 'quiet', hint: 'Remove', run: () => change(variables.filter((_, i) => i !== at)) })),
      h('input', { ...common('description', 'Description'), type: 'text', class: 'variable-description', placeholder: 'What it is, for the agent that calls the tool', value: one.description, oninput: (/** @type {any} */ event) => set(at, { description: event.target.value }) }),
      said.length > 0 && h('p', { id: `${id}-${at}-error`, class: 'error', role: 'alert' }, said.join('\n')));
    };
    return h('fieldset', { class: 'field group' }, h('legend', null, 'Context variables'),
      h('p', { class: 'hint' }, 'The agent that calls the tool fills them in; the target finds them in its prompt and in the context of the task.'),
      variables.length > 0 && h('ol', { class: 'variables' }, variables.map(row)), errors.get('contextVariables') && h('p', { class: 'error', role: 'alert' }, errors.get('contextVariables')),
      h('div', null, h(Button, { label: 'Add a variable', icon: 'plus', small: true, run: add })));
  };
}

/** Who may use the tool: all but its target, or the chosen ones. @param {{ id: string, names: string[], target: string, allowed: string[] | null, error?: string, change: (allowed: string[] | null) => void }} props */
export function allowedAgents({ id, names, target, allowed, error, change }) {
  const all = [...new Set([...names, ...(allowed ?? [])])].filter((name) => name !== target || allowed?.includes(name));
  const radio = (/** @type {boolean} */ isAll, /** @type {string} */ label) => h('label', { class: 'row' },
    h('input', { type: 'radio', name: `${id}-allowed`, checked: (allowed === null) === isAll, onchange: () => change(isAll ? null : []) }), label);
  return h('fieldset', { class: 'field group' }, h('legend', null, 'Who may use it'),
    h('div', { class: 'row' }, radio(true, `Every agent${target ? ` but ${target}` : ''}`), radio(false, 'Only these')),
    allowed !== null && h('div', { class: 'choices' }, all.map((name) => h('label', { key: name, class: 'row' }, h('input', {
      type: 'checkbox', checked: allowed.includes(name), onchange: (/** @type {any} */ event) => change(event.target.checked ? [...allowed, name] : allowed.filter((one) => one !== name)) }), name))),
    error && h('p', { class: 'error', role: 'alert' }, error));
}
