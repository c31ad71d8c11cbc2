// A task: what it is, who worked on it in which order, what came from it, its output, history and files, and what can be done with it.

import { get, p, post } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { setTitle } from '../lib/page.js';
import { navigate, place } from '../lib/router.js';
import { firstLine, shorten, shortId } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { Attachments } from '../parts/attachments.js';
import { agentChip, badge, blockedBadge, priorityBadge, STATUSES, statusBadge } from '../parts/badges.js';
import { Button, linkButton } from '../parts/button.js';
import { Chain } from '../parts/chain.js';
import { History } from '../parts/history.js';
import { Menu } from '../parts/menu.js';
import { Output } from '../parts/output.js';
import { page, tabs } from '../parts/page.js';
import { loaded } from '../parts/states.js';
import { rememberRoot, taskOf } from '../parts/task-data.js';
import { Overview } from '../parts/task-overview.js';
import { cancelAgent, handOff, setStatus } from '../parts/tasks.js';
import { toast } from '../parts/toast.js';
import { callTool } from '../parts/tool-call.js';
import { Tree } from '../parts/tree.js';

const TABS = [['', 'Chain'], ['tree', 'Tree'], ['output', 'Output'], ['files', 'Files'], ['history', 'History'], ['about', 'About']];

/** The same agent again, with the words of its last hand-off. @param {any} task */
async function retry(task) {
  const { data } = await get(p`/api/tasks/${task.id}/handoffs`);
  const last = data.at(-1);
  await post(p`/api/tasks/${task.id}/handoff`, { agentName: last.agentName, prompt: last.prompt, reason: 'Tried again' });
  toast(`${last.agentName} tries again`);
}

/** @param {any} task */
function actionsOf(task) {
  const last = task.agentChain.at(-1);
  const isWorking = Boolean(task.currentAgent);
  return [
    linkButton({ label: 'Chat', href: `/chat/${task.id}`, icon: 'chat' }),
    isWorking ? h(Button, { key: 'stop', label: 'Stop', icon: 'stop', run: () => cancelAgent(task), hint: `Stop ${task.currentAgent}` })
      : h(Button, { key: 'hand', label: 'Hand off', icon: 'arrow', kind: 'main', run: () => handOff(task), hint: 'h' }),
    h(Menu, { key: 'status', label: 'Status', items: STATUSES.map((status) => ({
      label: status, checked: task.status.type === status, run: async () => { if (await setStatus(task, status)) toast(`Set to ${status}`); },
    })) }),
    h(Menu, { key: 'more', label: 'More actions', icon: 'more', iconOnly: true, items: [
      ...(last && !isWorking ? [
        { label: `Try again with ${last.agentName}`, run: () => retry(task) },
        { label: `Continue ${last.agentName}’s session…`, run: () => handOff(task, { agentName: last.agentName, resume: true }) },
      ] : []),
      { label: 'Call a tool…', run: () => callTool(task) },
      ...(task.agentRole ? [{ label: 'Route to the best agent', run: () => post(p`/api/tasks/${task.id}/route`) }] : []),
      { label: 'Copy the id', run: async () => { await navigator.clipboard?.writeText(task.id); toast('Copied'); } },
    ] }),
  ];
}

/** @param {import('../lib/view.js').Self} self */
export default function TaskView(self) {
  const { id } = self.props.params;
  const task = self.use(taskOf(id));
  self.use(place);
  setTitle('Task');
  const current = () => place.query.get('tab') ?? '';
  const address = (/** @type {string} */ tab) => `/tasks/${encodeURIComponent(id)}${tab ? `?tab=${tab}` : ''}`;
  bindKeys(self, [
    ...TABS.map(([tab, label], at) => ({ keys: String(at + 1), label, run: () => navigate(address(tab), { replace: true }) })),
    { keys: 'h', label: 'Hand off', run: () => { if (task.data && !task.data.currentAgent) handOff(task.data); } },
    { keys: 't', label: 'Chat', run: () => navigate(`/chat/${id}`) },
  ]);
  const content = (/** @type {any} */ data) => {
    switch (current()) {
      case 'tree': return h(Tree, { key: 'tree', id, current: id });
      case 'output': return h(Output, { key: 'output', id, handoff: place.query.get('handoff') });
      case 'files': return h(Attachments, { key: 'files', task: data });
      case 'history': return h(History, { key: 'history', id });
      case 'about': return h(Overview, { key: 'about', task: data });
      default: return h(Chain, { key: 'chain', task: data });
    }
  };
  return () => h('div', { class: 'task-view' }, loaded(task, (data) => {
    setTitle(shorten(firstLine(data.description), 60));
    rememberRoot(data);
    const files = data.attachments.length;
    return page({
      crumbs: [h('a', { href: '/board' }, 'Board'), data.parentId && [' / ', h('a', { href: `/tasks/${data.parentId}` }, 'parent task')], ' / ', h('span', { class: 'mono', title: data.id }, shortId(data.id))],
      title: shorten(firstLine(data.description), 160),
      subtitle: h('span', { class: 'row' }, statusBadge(data.status), data.currentAgent && agentChip(data.currentAgent, { working: true }), data.blocked && blockedBadge(),
        priorityBadge(data.priority), data.agentRole && badge(data.agentRole, 'plain'), data.stage && badge(`${data.stage}${data.round ? ` · round ${data.round}` : ''}`, 'live'),
        data.incrementId && h('a', { href: `/increments/${data.incrementId}` }, 'increment'), data.sessionId && h('a', { href: `/sessions/${encodeURIComponent(data.sessionId)}` }, 'session'),
        h(Ago, { at: data.createdAt, prefix: 'created ' })),
      actions: actionsOf(data),
    },
    data.waitingReason && h('p', { class: ['notice', data.blocked ? 'bad' : 'warn'] }, data.waitingReason),
    data.status.type === 'failed' && data.status.message && h('p', { class: 'notice bad pre-line' }, data.status.message),
    tabs({ label: 'Parts of the task', items: TABS.map(([tab, label]) => ({ href: address(tab), label: tab === 'files' && files ? `${label} (${files})` : label, current: current() === tab })) }),
    content(data));
  }));
}
