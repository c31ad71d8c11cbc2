// Calls a hand-off tool on a task by hand: the tool, then a field for each of its variables.

import { ApiError, p, post } from '../lib/api.js';
import { navigate } from '../lib/router.js';
import { snapshot } from '../lib/store.js';
import { h } from '../lib/view.js';
import { agentChip } from './badges.js';
import { Button } from './button.js';
import { dialogHead, openDialog } from './dialog.js';
import { field } from './form.js';
import { empty, loaded } from './states.js';
import { toast } from './toast.js';

/** @param {string} type @param {string} text */
function valueOf(type, text) {
  if (type === 'string') return text;
  if (type === 'boolean') return text === 'true';
  if (type === 'number') return Number(text);
  return JSON.parse(text);
}

/** @param {import('../lib/view.js').Self} self */
function ToolCall(self) {
  const tools = self.use(snapshot(p`/api/tools`, { concerns: (event) => event.eventType.startsWith('tool_') }));
  let name = '';
  let error = '';
  /** @type {Record<string, string>} */
  const values = {};
  const submit = async (/** @type {Event} */ event, /** @type {any} */ tool) => {
    event.preventDefault();
    try {
      /** @type {Record<string, any>} */
      const body = {};
      for (const one of tool.contextVariables) if (values[one.name] !== undefined && values[one.name] !== '') body[one.name] = valueOf(one.type, values[one.name]);
      const { data } = await post(p`/api/tasks/${self.props.task.id}/tools/${tool.name}`, body);
      self.props.close(true);
      toast(`Routed to ${tool.targetAgent}`, { action: { label: 'Open', run: () => navigate(`/tasks/${data.id}`) } });
    } catch (failure) {
      error = failure instanceof ApiError || failure instanceof SyntaxError ? failure.message : String(failure);
      self.update();
    }
  };
  return (/** @type {any} */ props) => h('div', null, dialogHead({ ...props, title: 'Call a tool' }), loaded(tools, (list) => {
    if (!list.length) return empty({ icon: 'tools', title: 'There are no hand-off tools', text: 'A tool passes control of a task to another agent, with variables.', action: h('a', { class: 'button', href: '/tools', onclick: () => props.close() }, 'Define one') });
    const tool = list.find((/** @type {any} */ one) => one.name === name) ?? list[0];
    return h('form', { class: 'form', onsubmit: (/** @type {Event} */ event) => submit(event, tool) },
      field({ id: 'tool', name: 'tool', label: 'Tool', kind: 'select', value: tool.name, options: list.map((/** @type {any} */ one) => one.name), change: (given) => { name = given; self.update(); } }),
      h('p', { class: 'muted' }, tool.description, ' → ', agentChip(tool.targetAgent)),
      tool.contextVariables.map((/** @type {any} */ one) => field({ id: `var-${one.name}`, name: one.name, label: `${one.name} (${one.type})`, hint: one.description, required: one.required, error: error.includes(one.name) ? error : null,
        kind: one.type === 'boolean' ? 'select' : one.type === 'object' || one.type === 'array' ? 'area' : 'text', options: ['true', 'false'], optional: one.type === 'boolean' ? '–' : undefined,
        value: values[one.name] ?? '', change: (given) => { values[one.name] = given; } })),
      error && h('p', { class: 'error', role: 'alert' }, error),
      h('div', { class: 'dialog-actions' }, h(Button, { label: 'Back', run: () => props.close() }), h(Button, { label: 'Call', kind: 'main', type: 'submit' })));
  }));
}

/** @param {any} task */
export const callTool = (task) => openDialog(ToolCall, { task });
