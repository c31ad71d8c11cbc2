// Mail: what one looks like, who has read it, what can be done with it, and the form to write one.

import { p, post } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, words } from './badges.js';
import { Button } from './button.js';
import { openDialog } from './dialog.js';
import { agents, Form } from './form.js';
import { facts } from './page.js';
import { toast } from './toast.js';

/** @typedef {{ recipient: string, cc: boolean, deliveredAt: number | null, readAt: number | null, acknowledgedAt: number | null }} Recipient */
/** @typedef {{ id: string, type: string, from: string, fromVerified: boolean, to: string[], cc: string[], threadId: string, subject: string, body: string, taskId: string | null,
 *   handoffId: string | null, handoffType: string | null, context: Record<string, any>, previousAttempts: number, urgency: string, ackRequired: boolean, ackDueAt: number | null,
 *   sentAt: number, recipients: Recipient[] }} Mail */

export const OPERATOR = 'operator';
const TYPES = ['note', 'assignment', 'task_handoff', 'test_failure_report', 'fix_complete', 'verification_request'];

export const concernsMail = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => event.eventType.startsWith('mail_');

/** The copy of a box; without a box, nobody's. @param {Mail} mail @param {string} box */
export const copyOf = (mail, box) => mail.recipients.find((one) => one.recipient === box);

/** Whether a recipient must still acknowledge. @param {Mail} mail @param {Recipient | undefined} copy */
export const mustAcknowledge = (mail, copy) => Boolean(copy && mail.ackRequired && !copy.cc && !copy.acknowledgedAt);

/** @param {string} name */
export const correspondent = (name) => ([OPERATOR, 'router', 'anonymous'].includes(name) ? h('strong', { class: 'clip' }, name === OPERATOR ? 'you (operator)' : name) : agentChip(name));

/** @param {Mail} mail */
export const marks = (mail) => [mail.urgency !== 'normal' && badge(mail.urgency), mail.type !== 'note' && badge(mail.type, 'plain'),
  !mail.fromVerified && h('span', { class: 'badge plain', title: 'No token proves the sender: it is what a person on this machine said.' }, 'sender not verified')];

/** The state of the acknowledgement, if one is wanted. @param {Mail} mail @param {Recipient | undefined} copy */
export function ackState(mail, copy) {
  if (!mail.ackRequired || !copy || copy.cc) return null;
  if (copy.acknowledgedAt) return h(Ago, { at: copy.acknowledgedAt, prefix: 'acknowledged ' });
  return h('span', { class: 'row' }, badge('acknowledgement wanted', 'warn'), mail.ackDueAt && h(Ago, { at: mail.ackDueAt, prefix: 'due ' }));
}

/** What can be done for a recipient. @param {Mail} mail @param {Recipient | undefined} copy */
export function copyActions(mail, copy) {
  if (!copy) return [];
  const name = copy.recipient;
  const behalf = name === OPERATOR ? '' : ` for ${name}`;
  return [
    mustAcknowledge(mail, copy) && h(Button, { key: 'ack', label: `Acknowledge${behalf}`, kind: 'main', small: true, run: async () => { await post(p`/api/mail/${mail.id}/ack`, { recipient: name }); toast('Acknowledged'); } }),
    !copy.readAt && h(Button, { key: 'read', label: `Mark as read${behalf}`, small: true, run: () => post(p`/api/mail/${mail.id}/read`, { recipient: name }) }),
  ];
}

/** Who got a mail, and what happened to each copy. @param {Mail} mail */
const recipients = (mail) => h('ul', { class: 'stack tight' }, mail.recipients.map((one) => h('li', { key: one.recipient, class: 'row' }, correspondent(one.recipient), one.cc && badge('copy', 'plain'),
  one.readAt ? h(Ago, { at: one.readAt, prefix: 'read ' }) : h('span', { class: 'muted' }, one.deliveredAt ? 'in a prompt, not read yet' : 'not read yet'), ackState(mail, one), copyActions(mail, one))));

/** One mail in full. @param {{ mail: Mail, isCurrent: boolean }} props */
export const letter = ({ mail, isCurrent }) => h('article', { key: mail.id, class: ['letter panel', isCurrent && 'current'], 'data-item': mail.id, tabindex: -1, 'aria-label': mail.subject },
  h('header', { class: 'row letter-head' }, correspondent(mail.from), h('span', { class: 'row grow' }, marks(mail)), h(Ago, { at: mail.sentAt })),
  h('h2', { class: 'letter-subject' }, mail.subject), mail.body ? markdown(mail.body) : null,
  Object.keys(mail.context).length > 0 && h('details', { open: isCurrent }, h('summary', null, 'Facts that go with it'),
    facts(Object.entries(mail.context).map(([name, value]) => [words(name), typeof value === 'string' ? h('span', { class: 'pre-line' }, value) : h('code', null, JSON.stringify(value))]))),
  facts([['To', recipients(mail)], ['Task', mail.taskId && h('a', { href: `/tasks/${mail.taskId}` }, 'Open the task')], ['Hand-off', mail.handoffType && words(mail.handoffType)], ['Attempts', mail.previousAttempts || null]]));

/** @param {import('../lib/view.js').Self} self */
function Write(self) {
  const crew = self.use(agents());
  return (/** @type {any} */ props) => {
    const names = (crew.data ?? []).map((/** @type {any} */ one) => one.name);
    const split = (/** @type {string} */ text) => (text ?? '').split(/[\s,]+/).filter(Boolean);
    return h(Form, {
      ...props, title: props.answer ? 'Answer' : 'Write mail', action: 'Send', value: { from: OPERATOR, urgency: 'normal', type: 'note', ...props.preset },
      fields: [
        { name: 'from', label: 'From', kind: 'select', options: [{ value: OPERATOR, label: 'you (operator)' }, ...names] },
        { name: 'to', label: 'To', required: true, autofocus: !props.preset?.to, list: [OPERATOR, ...names], hint: 'Agents, operator, or role:NAME for all agents of a role; several with spaces.' },
        { name: 'cc', label: 'Copy to', list: [OPERATOR, ...names] },
        { name: 'subject', label: 'Subject', required: true, autofocus: Boolean(props.preset?.to) && !props.preset?.subject },
        { name: 'body', label: 'Text', kind: 'area', rows: 7, autofocus: Boolean(props.preset?.subject), hint: 'Markdown. An agent gets it with its next hand-off.' },
        { name: 'type', label: 'Type', kind: 'select', options: TYPES.map((value) => ({ value, label: words(value) })) },
        { name: 'urgency', label: 'Urgency', kind: 'select', options: ['low', 'normal', 'high', 'urgent'] },
        { name: 'taskId', label: 'About the task', hint: 'The id of a task.' },
        { name: 'ackRequired', label: 'The recipients must acknowledge it', kind: 'check' },
      ],
      submit: async (/** @type {any} */ value) => {
        const { data } = await post(p`/api/mail`, { from: value.from, to: split(value.to), cc: split(value.cc), subject: value.subject ?? '', body: value.body ?? '', type: value.type, urgency: value.urgency,
          taskId: value.taskId || null, ackRequired: Boolean(value.ackRequired), inReplyTo: props.answer ?? null });
        toast('Mail sent');
        return data;
      },
    });
  };
}

/** Opens the form for a mail; resolves with the mail. @param {{ to?: string, from?: string, subject?: string, taskId?: string }} [preset] @param {string} [answer] the mail to answer */
export const writeMail = (preset = {}, answer = undefined) => openDialog(Write, { preset, answer });

/** Opens the form for an answer to a mail, from the operator if it was for the operator. @param {Mail} mail */
export function answerMail(mail) {
  const me = mail.from === OPERATOR || copyOf(mail, OPERATOR) ? OPERATOR : mail.to[0];
  const others = mail.from === me ? mail.to : [mail.from];
  return writeMail({ from: me, to: others.join(' '), subject: /^re:/i.test(mail.subject) ? mail.subject : `Re: ${mail.subject}`, taskId: mail.taskId ?? '' }, mail.id);
}
