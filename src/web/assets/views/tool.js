// One tool: its form, the builder for context variables, and a preview of the function definition that models will see.

import { ApiError, p, post, put } from '../lib/api.js';
import { announce, setTitle } from '../lib/page.js';
import { navigate } from '../lib/router.js';
import { h } from '../lib/view.js';
import { Button } from '../parts/button.js';
import { agents, field, problemsOf } from '../parts/form.js';
import { page, section } from '../parts/page.js';
import { failed, loaded } from '../parts/states.js';
import { toast } from '../parts/toast.js';
import { allowedAgents, definitionOf, deleteTool, NEW_TOOL, tools, Variables } from '../parts/tools.js';

/** @typedef {import('../parts/tools.js').Tool} Tool */

/** @type {Tool} */
const EMPTY = { name: '', description: '', targetAgent: '', contextVariables: [], handoffInstructions: '', allowedAgents: null };
const FIELDS = ['name', 'description', 'targetAgent', 'handoffInstructions', 'allowedAgents', 'contextVariables'];

/** @param {import('../lib/view.js').Self} self */
function Editor(self) {
  const isNew = !self.props.tool;
  const crew = self.use(agents());
  let saved = /** @type {Tool} */ (self.props.tool ?? EMPTY);
  let tool = saved;
  let error = /** @type {any} */ (null);
  const change = (/** @type {Partial<Tool>} */ given) => {
    tool = { ...tool, ...given };
    self.update();
  };
  const save = async () => {
    error = null;
    try {
      const { data } = isNew ? await post(p`/api/tools`, tool) : await put(p`/api/tools/${saved.name}`, tool);
      saved = data;
      tool = data;
      toast(isNew ? `${data.name} created` : `${data.name} saved`);
      if (isNew) navigate(`/tools/${data.name}`);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      error = failure;
      announce('The tool is not saved: some fields are wrong');
      setTimeout(() => /** @type {HTMLElement | null} */ (self.el.querySelector('[aria-invalid=true]'))?.focus(), 60);
    }
    self.update();
  };
  const same = (/** @type {Tool} */ a, /** @type {Tool} */ b) => JSON.stringify(a) === JSON.stringify(b);

  return (/** @type {{ tool?: Tool }} */ { tool: given }) => {
    // Somebody else has changed the tool: an untouched form follows, a touched one asks.
    const isChanged = !same(tool, saved);
    if (given && !same(given, saved) && !isChanged) {
      saved = given;
      tool = given;
    }
    const names = variableFields();
    const wrong = problemsOf(error, names);
    const one = (/** @type {'name' | 'description' | 'targetAgent' | 'handoffInstructions'} */ name, /** @type {any} */ more) => field({
      ...more, id: `tool-${name}`, name, value: tool[name], error: wrong.get(name), change: (value) => change({ [name]: value }) });
    return h('div', { class: 'split even' },
      h('form', { class: 'form panel', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); save(); } },
        given && isChanged && !same(given, saved) && h('p', { class: 'notice warn row', role: 'alert' }, 'Somebody else has changed this tool.',
          h(Button, { label: 'Take theirs', small: true, run: () => { saved = given; change(given); } }), h(Button, { label: 'Keep mine', small: true, run: () => { saved = given; self.update(); } })),
        isNew && one('name', { label: 'Name', required: true, autofocus: true, placeholder: 'handoff_to_sales', hint: 'Lowercase letters, digits and _. Agents call the tool by it.' }),
        one('targetAgent', { label: 'Passes control to', kind: 'select', required: true, optional: 'Choose an agent', options: (crew.data ?? []).map((/** @type {any} */ agent) => agent.name) }),
        one('description', { label: 'When to use it', kind: 'area', rows: 3, required: true, hint: 'The model decides by this text.' }),
        h(Variables, { id: 'tool-variables', variables: tool.contextVariables, errors: wrong, change: (/** @type {any} */ contextVariables) => change({ contextVariables }) }),
        one('handoffInstructions', { label: 'Instructions for the target', kind: 'area', rows: 4, hint: 'Part of the prompt of the agent that takes over.' }),
        allowedAgents({ id: 'tool', names: (crew.data ?? []).map((/** @type {any} */ agent) => agent.name), target: tool.targetAgent, allowed: tool.allowedAgents, error: wrong.get('allowedAgents'), change: (allowed) => change({ allowedAgents: allowed }) }),
        wrong.has(null) && h('p', { class: 'error', role: 'alert' }, wrong.get(null)),
        h('div', { class: 'dialog-actions' }, !isNew && isChanged && h(Button, { label: 'Undo changes', run: () => { error = null; change(saved); } }),
          h(Button, { label: isNew ? 'Create' : 'Save', kind: 'main', type: 'submit', disabled: !isNew && !isChanged }))),
      h('div', { class: 'stack wide-gap sticky' },
        section({ title: 'What the model sees' }, h('pre', { class: 'code', tabindex: 0, 'aria-label': 'Function definition', 'data-preview': true }, JSON.stringify(definitionOf(tool), null, 2))),
        section({ title: 'How it is called' }, h('p', { class: 'muted' }, 'An agent in a terminal runs:'),
          h('pre', { class: 'code', tabindex: 0 }, `chorus tool call ${tool.name || 'NAME'}${tool.contextVariables.map((variable) => ` ${variable.required ? '' : '['}--var ${variable.name}=…${variable.required ? '' : ']'}`).join('')}`))));
  };

  function variableFields() {
    return [...FIELDS, ...tool.contextVariables.flatMap((_, at) => ['', '.name', '.type', '.required', '.description'].map((part) => `contextVariables[${at}]${part}`))];
  }
}

/** @param {import('../lib/view.js').Self} self */
export default function OneTool(self) {
  const { name } = self.props.params;
  const isNew = name === NEW_TOOL;
  setTitle(isNew ? 'New tool' : name);
  const all = self.use(tools());
  const crumbs = h('a', { href: '/tools' }, 'Tools');
  if (isNew) return () => page({ crumbs, title: 'New tool', wide: true, subtitle: 'A function that passes control to another agent.' }, h(Editor));
  return () => {
    const tool = /** @type {Tool[]} */ (all.data ?? []).find((one) => one.name === name);
    return page({ crumbs, title: h('span', { class: 'mono' }, name), wide: true, actions: tool && h(Button, { label: 'Delete…', run: () => deleteTool(tool) }) },
      loaded(all, () => (tool ? h(Editor, { key: name, tool }) : failed({ status: 404, message: `Tool not found: ${name}` }))));
  };
}
