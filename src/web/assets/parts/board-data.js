// The data of the board: one page of each column, more pages where a person scrolls, and what each event changes.

import { get, p, withQuery } from '../lib/api.js';
import { shorten } from '../lib/text.js';
import { RELOAD, resource } from '../lib/store.js';

/** @typedef {{ id: string, description: string, status: { type: string, message?: string }, createdAt: number, updatedAt: number, currentAgent: string | null,
 *   chainLength: number, children: number, lastLine: string | null, costUsd: number | null, agentRole: string | null, priority: number, blocked: boolean,
 *   waitingReason: string | null, sessionId: string | null, incrementId: string | null, stage: string | null, queued: number }} Card */
/** @typedef {{ status: string, total: number, more?: boolean, next: string | null, cards: Card[] }} Column */
/** @typedef {{ columns: Column[] }} Board */
/** @typedef {{ text: string, agent: string, role: string, session: string, increment: string }} Filter */

const PAGE = 50;

/** Events after which only the server knows what the board looks like. */
const UNKNOWN = /^(task_created|child_task_created|task_updated|planning_updated|task_blocked|task_ready|no_suitable_agent|increment_|message_(queued|taken_back|moved)|agent_handoff_|status_changed)/;

/** @param {Board} board @param {string} id */
function find(board, id) {
  for (const column of board.columns) {
    const card = column.cards.find((one) => one.id === id);
    if (card) return { column, card };
  }
  return null;
}

/** @param {Board} board @param {string} id @param {Partial<Card>} change @returns {Board} */
export function changeCard(board, id, change) {
  const found = find(board, id);
  if (!found) return board;
  const card = { ...found.card, ...change };
  const isMoved = change.status !== undefined && change.status.type !== found.column.status;
  return { columns: board.columns.map((column) => {
    if (column === found.column) {
      const cards = isMoved ? column.cards.filter((one) => one.id !== id) : column.cards.map((one) => (one.id === id ? card : one));
      return { ...column, cards, total: column.total - (isMoved ? 1 : 0) };
    }
    return isMoved && column.status === card.status.type ? { ...column, cards: [card, ...column.cards], total: column.total + 1 } : column;
  }) };
}

/** @param {string} text */
const lastLine = (text) => (text.trimEnd().split('\n').at(-1) ?? '').trim();

/** What an event changes at once; the snapshot that follows has the rest. @param {Board} board @param {import('../lib/events.js').ChorusEvent} event @returns {Board} */
function applyEvent(board, event) {
  const { eventType: type, data } = event;
  const id = event.taskId ?? '';
  const found = find(board, id);
  if (type === 'message_added') {
    const card = found ?? find(board, event.masterTaskId ?? '');
    const line = data.type === 'assistant_message' ? lastLine(data.content ?? '') : '';
    return card && line ? changeCard(board, card.card.id, { lastLine: shorten(line, 200) }) : board;
  }
  if (!found) return board;
  if (type === 'agent_handoff_started') {
    const isIdle = ['pending', 'waiting'].includes(found.card.status.type);
    return changeCard(board, id, { currentAgent: data.agentName, chainLength: found.card.chainLength + 1, updatedAt: event.timestamp, ...(isIdle && { status: { type: 'active' } }) });
  }
  if (type.startsWith('agent_handoff_')) {
    return changeCard(board, id, { currentAgent: null, updatedAt: event.timestamp, ...(found.card.status.type === 'active' && { status: { type: 'waiting' } }) });
  }
  if (type === 'status_changed') return changeCard(board, id, { status: { type: data.to }, updatedAt: event.timestamp });
  return board;
}

/** Keeps the pages that a person has scrolled to, when the first page is loaded again. @param {Board | undefined} old @param {Board} fresh @returns {Board} */
function merge(old, fresh) {
  if (!old) return fresh;
  const known = new Set(fresh.columns.flatMap((column) => column.cards.map((card) => card.id)));
  return { columns: fresh.columns.map((column) => {
    const before = old.columns.find((one) => one.status === column.status);
    const last = column.cards.at(-1);
    if (!before || !last || !column.next) return column;
    const rest = before.cards.filter((card) => card.updatedAt <= last.updatedAt && !known.has(card.id));
    return rest.length ? { ...column, cards: [...column.cards, ...rest], next: before.next } : column;
  }) };
}

/** @param {Filter} filter */
export function boardOf(filter) {
  const path = withQuery(p`/api/board`, { limit: PAGE, ...filter });
  /** @type {import('../lib/store.js').Resource} */
  const board = resource(path, {
    load: async (signal) => {
      const { data, meta } = await get(path, signal);
      return { data: merge(board.data, data), meta };
    },
    apply: (data, event) => {
      const changed = applyEvent(data, event);
      if (changed !== data) setTimeout(() => { if (UNKNOWN.test(event.eventType)) board.reload(); });
      return changed === data && UNKNOWN.test(event.eventType) ? RELOAD : changed;
    },
  });
  return board;
}

/** @type {Set<string>} */
const loading = new Set();

/** Loads the next page of a column. @param {import('../lib/store.js').Resource} board @param {Filter} filter @param {Column} column */
export async function loadMore(board, filter, column) {
  const key = `${board.key} ${column.status}`;
  if (!column.next || loading.has(key)) return;
  loading.add(key);
  try {
    const { data } = await get(withQuery(p`/api/board`, { limit: PAGE * 2, ...filter, status: column.status, after: column.next }));
    const page = data.columns[0];
    board.mutate((/** @type {Board} */ now) => {
      const known = new Set(now.columns.flatMap((one) => one.cards.map((card) => card.id)));
      return { columns: now.columns.map((one) => (one.status === column.status
        ? { ...one, next: page.next, cards: [...one.cards, ...page.cards.filter((/** @type {Card} */ card) => !known.has(card.id))] } : one)) };
    });
  } finally {
    loading.delete(key);
  }
}
