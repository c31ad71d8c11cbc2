// The figures of hand-offs: over time, per pair, per agent, per task, and the common paths. Each picture has its numbers as a table below.

import { day, duration } from '../lib/time.js';
import { counted, dollars, firstLine } from '../lib/text.js';
import { h } from '../lib/view.js';
import { agentChip } from './badges.js';
import { Bars, Matrix, ranking } from './charts.js';
import { icon } from './icon.js';
import { table } from './table.js';

/** @typedef {{ day: string, handoffs: number, completed: number, failed: number, costUsd: number | null, seconds: number }} Day */
/** @typedef {{ fromAgent: string | null, toAgent: string, handoffs: number, ended: number, completed: number, movedOn?: number, successRate: number | null, medianMs: number | null,
 *   p95Ms: number | null, costUsd: number | null, bounces: number }} Pair */

const DAY = 86_400_000;
/** The name of those who hand off without being an agent. */
const PEOPLE = 'people and rules';

export const percent = (/** @type {number | null | undefined} */ share) => (share === null || share === undefined ? '–' : `${Math.round(share * 100)} %`);
export const time = (/** @type {number | null | undefined} */ ms) => (ms === null || ms === undefined ? '–' : duration(ms));
export const money = (/** @type {number | null | undefined} */ cost) => dollars(cost) || '–';

/** All days of a period, with the empty ones, oldest first. @param {Day[]} days @param {string} from @param {string} to @returns {Day[]} */
export function filled(days, from, to) {
  const known = new Map(days.map((one) => [one.day, one]));
  const all = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) {
    const name = new Date(at).toISOString().slice(0, 10);
    all.push(known.get(name) ?? { day: name, handoffs: 0, completed: 0, failed: 0, costUsd: null, seconds: 0 });
  }
  return all;
}

/** A day in UTC as people write it. @param {string} name */
const label = (name) => day(Date.parse(`${name}T12:00:00Z`));
const mean = (/** @type {Day} */ one) => (one.handoffs ? (one.seconds * 1000) / one.handoffs : null);

/** Success, duration and cost over time. @param {Day[]} days */
export function overTime(days) {
  const bars = (/** @type {(one: Day) => { value: number, tone: string }[]} */ parts, /** @type {(one: Day) => string} */ say) => days.map((one) => ({ label: label(one.day), title: `${label(one.day)}: ${say(one)}`, parts: parts(one) }));
  const chart = (/** @type {string} */ title, /** @type {any[]} */ given, /** @type {(value: number) => string} */ format, /** @type {any} */ legend, factor = 1) => h('div', { class: 'panel stack' }, h('div', { class: 'section-head' }, h('h3', null, title), legend), h(Bars, { label: `${title}, by day`, bars: given, format, unit: factor }));
  const whole = (/** @type {number} */ value) => (Number.isInteger(value) ? value.toLocaleString() : '');
  const longest = Math.max(0, ...days.map((one) => mean(one) ?? 0));
  const unit = [3_600_000, 60_000, 1000].find((one) => longest > one) ?? 1;
  const busy = days.filter((one) => one.handoffs > 0).reverse();
  return [
    h('div', { class: 'charts' },
      chart('Hand-offs', bars((one) => [{ value: one.completed, tone: 'good' }, { value: one.failed, tone: 'bad' }, { value: Math.max(0, one.handoffs - one.completed - one.failed), tone: 'plain' }],
        (one) => `${counted(one.handoffs, 'hand-off')}, ${one.completed} completed, ${one.failed} failed`), whole,
      h('p', { class: 'legend' }, h('span', { class: 'good' }, 'completed'), h('span', { class: 'bad' }, 'failed'), h('span', { class: 'plain' }, 'other'))),
      chart('Mean duration', bars((one) => [{ value: mean(one) ?? 0, tone: 'live' }], (one) => time(mean(one))), (value) => (value ? duration(value) : '0'), null, unit),
      chart('Cost', bars((one) => [{ value: one.costUsd ?? 0, tone: 'accent' }], (one) => (one.costUsd === null ? 'no cost reported' : dollars(one.costUsd))), (value) => (value ? dollars(value) : '0'), null)),
    h('details', null, h('summary', null, 'The numbers of each day'), table({ label: 'Figures by day', rows: busy, key: (one) => one.day, columns: [
      { title: 'Day (UTC)', cell: (one) => one.day }, { title: 'Hand-offs', end: true, cell: (one) => one.handoffs.toLocaleString() }, { title: 'Completed', end: true, cell: (one) => one.completed.toLocaleString() },
      { title: 'Failed', end: true, cell: (one) => one.failed.toLocaleString() }, { title: 'Mean duration', end: true, cell: (one) => time(mean(one)) }, { title: 'Cost', end: true, cell: (one) => money(one.costUsd) }] })),
  ];
}

/** What the fields of the matrix can show. @type {Record<string, { label: string, value: (pair: Pair) => number | null, text: (pair: Pair) => string }>} */
export const METRICS = {
  handoffs: { label: 'hand-offs', value: (pair) => pair.handoffs, text: (pair) => pair.handoffs.toLocaleString() },
  success: { label: 'success', value: (pair) => pair.successRate, text: (pair) => percent(pair.successRate) },
  median: { label: 'median duration', value: (pair) => pair.medianMs, text: (pair) => time(pair.medianMs) },
  cost: { label: 'cost', value: (pair) => pair.costUsd, text: (pair) => money(pair.costUsd) },
};

/** Hand-offs per pair. @param {Pair[]} pairs @param {string} metric */
export function perPair(pairs, metric) {
  const shown = METRICS[metric] ?? METRICS.handoffs;
  const names = (/** @type {(pair: Pair) => string} */ of) => [...new Set(pairs.map(of))].sort((a, b) => Number(b === PEOPLE) - Number(a === PEOPLE) || a.localeCompare(b));
  const from = (/** @type {Pair} */ pair) => pair.fromAgent ?? PEOPLE;
  const found = new Map(pairs.map((pair) => [`${from(pair)} ${pair.toAgent}`, pair]));
  const cell = (/** @type {string} */ row, /** @type {string} */ column) => {
    const pair = found.get(`${row} ${column}`);
    return pair ? { value: shown.value(pair), text: shown.text(pair), title: `${row} to ${column}: ${counted(pair.handoffs, 'hand-off')}, success ${percent(pair.successRate)}, median ${time(pair.medianMs)}, cost ${money(pair.costUsd)}` } : null;
  };
  return [
    h('div', { class: 'panel' }, h(Matrix, { label: `Hand-offs from the agent on the left to the agent above: ${shown.label}`, rows: names(from), columns: names((pair) => pair.toAgent), cell })),
    table({ label: 'Hand-offs per pair', rows: pairs, key: (pair) => `${from(pair)} ${pair.toAgent}`, columns: [
      { title: 'From', cell: (pair) => (pair.fromAgent ? agentChip(pair.fromAgent) : h('span', { class: 'muted' }, PEOPLE)) }, { title: 'To', cell: (pair) => agentChip(pair.toAgent) },
      { title: 'Hand-offs', end: true, cell: (pair) => pair.handoffs.toLocaleString() }, { title: 'Success', end: true, cell: (pair) => percent(pair.successRate) }, { title: 'Median', end: true, cell: (pair) => time(pair.medianMs) },
      { title: '95 %', end: true, cell: (pair) => time(pair.p95Ms) }, { title: 'Cost', end: true, cell: (pair) => money(pair.costUsd) }, { title: 'Straight back', end: true, cell: (pair) => pair.bounces || '–' }] }),
  ];
}

/** The sums of the pairs by target. @param {Pair[]} pairs */
function byAgent(pairs) {
  /** @type {Map<string, { name: string, handoffs: number, judged: number, completed: number, costUsd: number | null }>} */
  const sums = new Map();
  for (const pair of pairs) {
    const sum = sums.get(pair.toAgent) ?? { name: pair.toAgent, handoffs: 0, judged: 0, completed: 0, costUsd: null };
    sum.handoffs += pair.handoffs;
    sum.judged += pair.ended - (pair.movedOn ?? 0);
    sum.completed += pair.completed;
    if (pair.costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + pair.costUsd;
    sums.set(pair.toAgent, sum);
  }
  return [...sums.values()].sort((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.handoffs - a.handoffs);
}

/** Cost and success per agent, with the quality of its work where the server knows it. @param {{ pairs: Pair[], agents?: any[] }} data */
export function perAgent({ pairs, agents = [] }) {
  const sums = byAgent(pairs);
  const isKnown = sums.some((one) => one.costUsd !== null);
  const quality = (/** @type {string} */ name) => agents.find((one) => one.agentName === name)?.quality;
  const columns = [
    { title: 'Agent', cell: (/** @type {any} */ one) => agentChip(one.name) }, { title: 'Hand-offs', end: true, cell: (/** @type {any} */ one) => one.handoffs.toLocaleString() },
    { title: 'Success', end: true, cell: (/** @type {any} */ one) => percent(one.judged ? one.completed / one.judged : null) }, { title: 'Cost', end: true, cell: (/** @type {any} */ one) => money(one.costUsd) },
    ...(agents.length ? [{ title: 'Rework', end: true, cell: (/** @type {any} */ one) => percent(quality(one.name)?.rework.rate) }, { title: 'Returned', end: true, cell: (/** @type {any} */ one) => percent(quality(one.name)?.review.rate) },
      { title: 'First message', end: true, cell: (/** @type {any} */ one) => time(quality(one.name)?.firstMessage.medianMs) }] : []),
  ];
  return [
    h('div', { class: 'panel' }, ranking({ label: isKnown ? 'Cost by agent' : 'Hand-offs by agent', rows: sums.slice(0, 12).map((one) => ({
      key: one.name, name: agentChip(one.name), value: isKnown ? one.costUsd ?? 0 : one.handoffs, text: isKnown ? money(one.costUsd) : counted(one.handoffs, 'hand-off') })) }), !isKnown && h('p', { class: 'hint' }, 'No provider has reported a cost, so the bars show hand-offs.')),
    table({ label: 'Figures by agent', rows: sums, key: (one) => one.name, open: (one) => `/agents/${encodeURIComponent(one.name)}`, columns }),
  ];
}

/** The tasks on which most was spent, among the newest. @param {any[]} cards @param {string} query the other parts of the address */
export function perTask(cards, query) {
  const spent = cards.filter((card) => card.costUsd).sort((a, b) => b.costUsd - a.costUsd).slice(0, 12);
  if (!spent.length) return h('p', { class: 'muted' }, 'No provider has reported a cost for one of the newest tasks.');
  return [
    h('div', { class: 'panel' }, ranking({ label: 'Cost by task', rows: spent.map((card) => ({ key: card.id, name: h('a', { href: `/tasks/${card.id}`, class: 'clip' }, firstLine(card.description)), value: card.costUsd, text: dollars(card.costUsd), tone: 'accent' })) })),
    table({ label: 'Tasks, and what they cost', rows: spent, key: (card) => card.id, columns: [
      { title: 'Task', class: 'wide-cell', cell: (card) => h('a', { href: `/tasks/${card.id}`, class: 'clamp' }, firstLine(card.description)) }, { title: 'Hand-offs', end: true, cell: (card) => card.chainLength },
      { title: 'Cost', end: true, cell: (card) => dollars(card.costUsd) }, { title: 'By day', cell: (card) => h('a', { href: `/figures?${query}task=${card.id}` }, 'Show its days') }] }),
  ];
}

/** The most common paths of control. @param {{ agents: string[], count: number }[]} paths */
export function commonPaths(paths) {
  if (!paths.length) return h('p', { class: 'muted' }, 'No path over three agents yet.');
  const chain = (/** @type {string[]} */ names) => h('span', { class: 'row' }, names.map((name, at) => [at > 0 && icon('arrow', 'tiny'), agentChip(name)]));
  return [
    h('div', { class: 'panel' }, ranking({ label: 'Common paths', rows: paths.map((path) => ({ key: path.agents.join(' '), name: chain(path.agents), value: path.count, text: counted(path.count, 'time') })) })),
    table({ label: 'Paths, and how often control took them', rows: paths, key: (path) => path.agents.join(' '), columns: [{ title: 'Path', cell: (path) => path.agents.join(' → ') }, { title: 'Times', end: true, cell: (path) => path.count.toLocaleString() }] }),
  ];
}
