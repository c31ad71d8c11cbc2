// Figures: how hand-offs go, how long they take, and what they cost; over time, per pair, per agent and per task.

import { get, now, p, withQuery } from '../lib/api.js';
import { setTitle } from '../lib/page.js';
import { place, setQuery } from '../lib/router.js';
import { resource, snapshot } from '../lib/store.js';
import { h } from '../lib/view.js';
import { Button } from '../parts/button.js';
import { commonPaths, filled, METRICS, money, overTime, perAgent, perPair, percent, perTask, time } from '../parts/figures.js';
import { following } from '../parts/following.js';
import { agents } from '../parts/form.js';
import { page, section } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';

const DAY = 86_400_000;
const PERIODS = { 7: '7 days', 30: '30 days', 90: '90 days', 365: 'a year' };
const hasEnded = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => event.eventType.startsWith('agent_handoff_');

/** @param {import('../lib/view.js').Self} self */
export default function Figures(self) {
  setTitle('Figures');
  const crew = self.use(agents());
  const newest = self.use(resource('figures of tasks', {
    load: async (signal) => {
      const { data, meta } = await get(withQuery(p`/api/board`, { limit: 200 }), signal);
      return { data: data.columns.flatMap((/** @type {any} */ column) => column.cards), meta };
    },
    concerns: hasEnded,
  }));
  const period = () => (Number(place.query.get('days')) in PERIODS ? Number(place.query.get('days')) : 30);
  const name = (/** @type {number} */ at) => new Date(at).toISOString().slice(0, 10);
  /** The first and the last day, in UTC. */
  const between = () => {
    const today = Math.floor(now() / DAY) * DAY;
    return { from: name(today - (period() - 1) * DAY), to: name(today) };
  };
  const days = following(self, () => snapshot(withQuery(p`/api/analytics/days`, { ...between(), agent: place.query.get('agent'), task: place.query.get('task') }), { concerns: hasEnded }));
  const sums = following(self, () => snapshot(withQuery(p`/api/analytics/handoffs`, { since: Date.parse(between().from), agent: place.query.get('agent') }), { concerns: hasEnded }));

  const choice = (/** @type {string} */ label, /** @type {string} */ key, /** @type {[string, string][]} */ options, /** @type {string} */ usual) => h('label', { class: 'tool-field' }, h('span', null, label),
    h('select', { value: place.query.get(key) ?? usual, onchange: (/** @type {any} */ event) => setQuery({ [key]: event.target.value === usual ? null : event.target.value }) },
      options.map(([value, text]) => h('option', { key: value, value, selected: value === (place.query.get(key) ?? usual) }, text))));
  const tile = (/** @type {string} */ label, /** @type {any} */ value, /** @type {string | undefined} */ hint = undefined) => h('div', { class: 'panel tile', title: hint }, h('dt', null, label), h('dd', { class: 'figure-number' }, value));

  return () => {
    const { from, to } = between();
    const [agent, task] = [place.query.get('agent'), place.query.get('task')];
    const query = new URLSearchParams(place.query);
    query.delete('task');
    const others = query.toString() ? `${query.toString()}&` : '';
    return page({
      title: 'Figures', wide: true, subtitle: 'How hand-offs go, how long they take, and what they cost.',
      tools: h('div', { class: 'row grow', role: 'search' }, choice('Last', 'days', Object.entries(PERIODS), '30'),
        choice('Agent', 'agent', [['', 'all'], ...[...new Set([...(crew.data ?? []).map((/** @type {any} */ one) => one.name), agent].filter(Boolean))].map((one) => /** @type {[string, string]} */ ([one, one]))], ''),
        task && h(Button, { label: `Task ${task.slice(-8)}`, icon: 'close', small: true, hint: 'Show the days of all tasks again', run: () => setQuery({ task: null }) })),
    }, loaded(sums.now, (data) => {
      if (!data.total.handoffs) return empty({ icon: 'figures', title: 'No hand-offs in this time', text: 'Figures appear when agents have worked. Choose a longer time, or hand a task to an agent.', action: h('a', { href: '/board' }, 'Go to the board') });
      return h('div', { class: 'stack wide-gap' },
        h('dl', { class: 'tiles' }, tile('Hand-offs', data.total.handoffs.toLocaleString()), tile('Success', percent(data.total.successRate), 'Completed among the ended'), tile('Median', time(data.total.medianMs), 'Half of the runs are shorter'),
          tile('95 %', time(data.total.p95Ms), '95 % of the runs are shorter'), tile('Cost', money(data.total.costUsd), 'As far as providers report it'), tile('Straight back', data.bounces.toLocaleString(), 'Hand-offs back to the agent that handed off')),
        section({ title: task ? 'Over time, of one task' : 'Over time' }, loaded(days.now, (list) => overTime(filled(list, from, to)))),
        section({ title: 'Who hands to whom', actions: choice('Show', 'metric', Object.entries(METRICS).map(([key, one]) => /** @type {[string, string]} */ ([key, one.label])), 'handoffs') }, perPair(data.pairs, place.query.get('metric') ?? 'handoffs')),
        section({ title: 'By agent' }, perAgent(data)),
        section({ title: 'By task' }, loaded(newest, (cards) => perTask(cards, others))),
        section({ title: 'Common paths' }, commonPaths(data.paths)));
    }));
  };
}
