// Chat: the conversation of a whole chain, live. A message goes to the agent that has control; while one works, messages are queued.

import { ApiError, p, post, remove } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { announce, setTitle } from '../lib/page.js';
import { navigate } from '../lib/router.js';
import { firstLine, shorten } from '../lib/text.js';
import { Ago, Since } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, statusBadge } from '../parts/badges.js';
import { Button } from '../parts/button.js';
import { ChatSide } from '../parts/chat-side.js';
import { controlOf, conversationOf, delegatedIn, familyOf, hopsOf, queueOf, recentChats, rootOf } from '../parts/chat-data.js';
import { Composer } from '../parts/composer.js';
import { ask } from '../parts/dialog.js';
import { agents } from '../parts/form.js';
import { icon } from '../parts/icon.js';
import { VirtualList } from '../parts/list.js';
import { Menu } from '../parts/menu.js';
import { grouped, message } from '../parts/message.js';
import { empty, loaded } from '../parts/states.js';
import { taskOf } from '../parts/task-data.js';
import { cancelAgent } from '../parts/tasks.js';
import { toast } from '../parts/toast.js';

/** @typedef {import('../parts/message.js').Message} Message */

/** The conversations that moved last. @param {import('../lib/view.js').Self} self */
function Recent(self) {
  const chats = self.use(recentChats());
  return (/** @type {{ current: string }} */ { current }) => h('nav', { class: 'chat-list', 'aria-label': 'Conversations' },
    h('div', { class: 'section-head' }, h(current ? 'h2' : 'h1', null, 'Chat'), h('a', { class: 'button small', href: '/chat', 'aria-label': 'New conversation' }, icon('plus'), h('span', null, 'New'))),
    loaded(chats, (list) => (list.length ? h('ul', null, list.map((/** @type {any} */ card) => h('li', { key: card.id }, h('a', { href: `/chat/${card.id}`, 'aria-current': card.id === current ? 'page' : null, 'data-item': card.id },
      h('span', { class: 'clip chat-name' }, firstLine(card.description)),
      h('span', { class: 'chat-last' }, card.currentAgent ? agentChip(card.currentAgent, { working: true }) : h('span', { class: 'clip' }, card.lastLine ?? card.status.type), h(Ago, { at: card.updatedAt })))))) : h('p', { class: 'muted' }, 'None yet.'))));
}

/** @param {import('../lib/view.js').Self} self @param {{ value: string, change: (name: string) => void, label: string, optional?: string }} props */
const agentChoice = (self, { value, change, label, optional }) => {
  const crew = self.use(agents());
  return () => h('label', { class: 'tool-field' }, label, h('select', { value, onchange: (/** @type {any} */ event) => { value = event.target.value; change(value); self.update(); } },
    optional && h('option', { value: '' }, optional), (crew.data ?? []).filter((/** @type {any} */ agent) => agent.available).map((/** @type {any} */ agent) => h('option', { key: agent.name, value: agent.name, selected: agent.name === value }, agent.name))));
};

/** A new conversation: the first message makes the task. @param {import('../lib/view.js').Self} self */
function Begin(self) {
  let agentName = '';
  const choice = agentChoice(self, { value: '', change: (name) => { agentName = name; }, label: 'To', optional: 'Choose an agent' });
  const send = async (/** @type {string} */ content) => {
    if (!agentName) throw new Error('Choose the agent that gets the first message.');
    const { data } = await post(p`/api/tasks`, { description: content });
    try {
      await post(p`/api/tasks/${data.id}/chat`, { content, agentName });
    } finally {
      navigate(`/chat/${data.id}`);
    }
  };
  return () => h('div', { class: 'chat-main' }, h('div', { class: 'chat-scroll' }, empty({ icon: 'chat', title: 'Talk to your agents', text: 'Your first message becomes a task, and goes to the agent that you choose. Agents may ask others, or pass the conversation on; you see both here.' })),
    h(Composer, { draft: 'new', label: 'First message', send, before: choice() }));
}

/** @param {import('../lib/view.js').Self} self */
function Conversation(self) {
  const { task } = self.props;
  const root = rootOf(task);
  const messages = self.use(conversationOf(root));
  const family = self.use(familyOf(root));
  const crew = self.use(agents());
  /** @type {ReturnType<typeof queueOf> | null} */
  let queue = null;
  let leave = () => {};
  self.onUnmount(() => leave());
  const followQueue = (/** @type {string} */ id) => {
    const next = queueOf(id);
    if (next === queue) return;
    leave();
    queue = next;
    leave = next.subscribe(self.update);
  };
  let agentName = '';
  const choice = agentChoice(self, { value: '', change: (name) => { agentName = name; }, label: 'To', optional: 'Choose an agent' });
  let heard = 0;
  self.onUnmount(messages.subscribe(() => {
    const list = /** @type {Message[]} */ (messages.data ?? []);
    const last = list.at(-1);
    if (heard && list.length > heard && last?.type === 'handoff' && last.data) announce(`Routed to ${last.data.toAgent}`);
    heard = list.length;
  }));

  const send = async (/** @type {string} */ content) => {
    const body = agentName ? { content, agentName } : { content };
    const { data } = await post(p`/api/tasks/${task.id}/chat`, body);
    announce(data.queued ? 'Queued' : 'Sent');
    agentName = '';
    queue?.reload();
    family.reload();
  };
  const takeBack = async (/** @type {any} */ control, /** @type {any} */ one) => {
    try {
      await remove(p`/api/tasks/${control.id}/queue/${one.id}`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) toast('The message has been sent already.');
      else throw error;
    }
    queue?.reload();
  };
  /** Gives the conversation to another agent by hand. @param {any} control @param {string} name */
  const override = async (control, name) => {
    if (control.currentAgent) {
      const isSure = await ask({ title: `Hand the conversation to ${name}?`, text: `${control.currentAgent} is still working and is stopped. What it has said is kept.`, action: `Stop and hand to ${name}` });
      if (!isSure) return;
      await post(p`/api/tasks/${control.id}/handoff/cancel`, { reason: `Handed to ${name} by hand` });
    }
    await post(p`/api/tasks/${control.id}/handoff`, { agentName: name, prompt: 'Continue the conversation.', reason: 'Handed over by hand' });
    toast(`${name} takes over`);
  };
  bindKeys(self, [{ keys: 'r', label: 'Write a message', run: () => self.el.querySelector('textarea')?.focus() }]);

  return (/** @type {{ task: any }} */ props) => loaded(family, (tree) => {
    const control = controlOf(tree, props.task.id);
    followQueue(control.id);
    const nested = delegatedIn(tree);
    const hops = hopsOf(tree);
    const open = hops.filter((hop) => !hop.completedAt);
    const list = /** @type {Message[]} */ (messages.data ?? []);
    const queued = queue?.data ?? [];
    const inControl = control.currentAgent ?? control.handoffs.at(-1)?.agentName ?? null;
    const takesOver = control.currentAgent && list.at(-1)?.type === 'handoff';
    const row = (/** @type {any} */ item) => {
      if (item.kind === 'queued') {
        return h('article', { class: 'message person queued', key: item.key }, h('p', { class: 'message-head' }, h('strong', null, 'You'), h('span', { class: 'badge live' }, 'queued'), h(Ago, { at: item.one.receivedAt }),
          h(Button, { label: 'Take back', icon: 'undo', small: true, kind: 'quiet', run: () => takeBack(control, item.one) })), h('div', { class: 'markdown' }, h('p', null, item.one.content)));
      }
      if (item.kind === 'working') {
        return h('div', { class: 'typing', key: item.key, role: 'status' }, agentChip(item.hop.agentName, { working: true }), h('span', { class: 'muted' }, item.takesOver ? 'takes over' : item.hop.live?.waitsFor?.length ? `waits for ${item.hop.live.waitsFor.map((/** @type {any} */ one) => one.agentName).join(', ')}` : 'is working'), h(Since, { at: item.hop.startedAt }));
      }
      return h('div', { class: nested.has(item.one.taskId) && 'nested', key: item.key }, message(item.one, { isFollowUp: item.isFollowUp }));
    };
    const items = [
      ...grouped(list).map((one) => ({ kind: 'message', key: one.number, one, isFollowUp: one.isFollowUp })),
      ...open.map((hop) => ({ kind: 'working', key: `working ${hop.id}`, hop, takesOver: takesOver && hop.taskId === control.id })),
      ...queued.map((/** @type {any} */ one) => ({ kind: 'queued', key: `queued ${one.id}`, one })),
    ];
    const names = (crew.data ?? []).filter((/** @type {any} */ agent) => agent.available && agent.name !== control.currentAgent).map((/** @type {any} */ agent) => agent.name);
    return h('div', { class: 'chat-body' },
      h('div', { class: 'chat-main' },
        h('header', { class: 'chat-head' }, h('div', { class: 'grow' }, h('h1', { class: 'clip' }, firstLine(props.task.description)),
          h('p', { class: 'row small-text' }, statusBadge(control.status), inControl ? [h('span', { class: 'muted' }, control.currentAgent ? 'with' : 'last with'), agentChip(inControl, { working: Boolean(control.currentAgent) })] : h('span', { class: 'muted' }, 'no agent yet'))),
        control.currentAgent && h(Button, { label: 'Stop', icon: 'stop', small: true, run: () => cancelAgent(control) }),
        h(Menu, { label: 'Hand to', small: true, title: 'Give the conversation to another agent', items: names.map((/** @type {string} */ name) => ({ label: name, run: () => override(control, name) })) }),
        h('a', { class: 'button small', href: `/tasks/${control.id}` }, 'Task')),
        loaded(messages, () => (items.length ? h(VirtualList, { key: root, class: 'chat-scroll', label: 'Conversation', items, keyOf: (/** @type {any} */ item) => item.key, estimate: 70, row, stick: true, role: 'log' })
          : h('div', { class: 'chat-scroll' }, empty({ icon: 'chat', title: 'Nothing said yet', text: 'Choose an agent and write the first message.' })))),
        h(Composer, { key: `composer ${root}`, draft: root, send, label: inControl ? `Message to ${agentName || inControl}` : 'First message',
          before: inControl ? null : choice(), action: control.currentAgent ? 'Queue' : 'Send',
          note: control.currentAgent ? `${control.currentAgent} is working: messages are queued, and sent together when it has ended.` : null })),
      h(ChatSide, { key: `side ${props.task.id}`, task: props.task, tree }));
  });
}

/** @param {import('../lib/view.js').Self} self */
export default function Chat(self) {
  setTitle('Chat');
  const { id } = self.props.params;
  const task = id ? self.use(taskOf(id)) : null;
  return () => h('div', { class: ['view fill chat-view', id && 'has-chat'] }, h(Recent, { current: id ?? '' }),
    task ? loaded(task, (data) => {
      setTitle(shorten(firstLine(data.description), 60));
      return h(Conversation, { key: id, task: data });
    }) : h(Begin, { key: 'begin' }));
}
