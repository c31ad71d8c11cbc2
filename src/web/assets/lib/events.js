// The one event stream of the page, read with fetch because `EventSource` cannot send a token.
//
// How it works: each connection starts with the number of the last event (`id:`). After a short break the stream resumes after the last
// event that arrived. After a long one (a night, a suspended machine) it starts with the next event, and `onStart` listeners load
// their snapshots again where these are older than the start: much cheaper than a night of events. A stream that is silent for longer
// than the server's keep-alive is dead.

import { ApiError, call, p, session, withQuery } from './api.js';
import { turn, watchTurn } from './turn.js';

const SILENCE = 40000;
const SHORT_BREAK = 60000;
const LONGEST_PAUSE = 4000;
/** A timer that is late by this much has slept with the machine. */
const LATE = 8000;

/** @typedef {{ number: number, timestamp: number, eventType: string, data: Record<string, string>, taskId?: string, masterTaskId?: string,
 *   handoffId?: string, requestId?: string }} ChorusEvent */
/** @typedef {'connecting' | 'live' | 'lost' | 'refused'} State */

/** @type {Set<(events: ChorusEvent[]) => void>} */
const onEvents = new Set();
/** @type {Set<(number: number, isForeign: boolean) => void>} */
const onStart = new Set();
/** @type {Set<() => void>} */
const onState = new Set();

/** The stream; a source for `self.use` whose changes are those of its state. */
export const stream = {
  state: /** @type {State} */ ('connecting'),
  /** The number of the newest event that arrived. */
  last: -1,
  /** The version of the assets that the server has now. @type {string | null} */
  assets: null,
  /** @param {() => void} listener */
  subscribe(listener) {
    onState.add(listener);
    return () => onState.delete(listener);
  },
  /** Calls the listener with all events that arrived together. @param {(events: ChorusEvent[]) => void} listener */
  onEvents(listener) {
    onEvents.add(listener);
    return () => onEvents.delete(listener);
  },
  /**
   * Calls the listener when the stream begins without the events before. `isForeign`: the server has another history, for example a
   * restored one.
   * @param {(number: number, isForeign: boolean) => void} listener
   */
  onStart(listener) {
    onStart.add(listener);
    return () => onStart.delete(listener);
  },
  /** Resolves when the stream has begun, or has failed to. */
  begun: Promise.resolve(),
  /** Connects, and never ends. */
  start,
};

let connection = new AbortController();
let heardAt = 0;
let wake = () => {};

/** @param {State} state */
function setState(state) {
  if (stream.state === state) return;
  stream.state = state;
  for (const listener of [...onState]) listener();
}

/** Connects again, at once. */
function reconnect() {
  connection.abort();
  wake();
}

/** @param {number} milliseconds @returns {Promise<void>} */
const pause = (milliseconds) => new Promise((resolve) => {
  const timer = setTimeout(resolve, milliseconds);
  wake = () => {
    clearTimeout(timer);
    resolve();
  };
});

function start() {
  let settle = () => {};
  stream.begun = new Promise((resolve) => { settle = () => resolve(undefined); });
  follow(settle);
  watchTurn(() => connection.abort());
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && Date.now() - heardAt > SILENCE / 2) reconnect();
  });
  addEventListener('online', reconnect);
  let { token } = session;
  session.subscribe(() => {
    if (token !== session.token && stream.state === 'refused') reconnect();
    token = session.token;
  });
  let tick = Date.now();
  setInterval(() => {
    const isLate = Date.now() - tick > LATE;
    tick = Date.now();
    if (isLate && !document.hidden) reconnect();
    else if (Date.now() - heardAt > SILENCE) connection.abort();
  }, 2000);
}

/** @param {() => void} settle */
async function follow(settle) {
  let wait = 0;
  for (;;) {
    await turn();
    connection = new AbortController();
    const { signal } = connection;
    const sent = session.token;
    const isShort = stream.last >= 0 && Date.now() - heardAt < SHORT_BREAK;
    try {
      heardAt = Math.max(heardAt, Date.now() - SILENCE / 2);
      const response = await call(withQuery(p`/api/events`, { after: isShort ? stream.last : undefined }), { signal });
      await checkAssets();
      wait = 0;
      await read(response, isShort, settle);
    } catch (error) {
      if (error instanceof ApiError && error.status === 400) stream.last = -1;
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) setState('refused');
    }
    settle();
    if (stream.state !== 'refused') setState('lost');
    // A wrong token is forgotten: on this machine, the page may work without one.
    if (!signal.aborted && sent === session.token) await pause(stream.state === 'refused' ? 30000 : wait);
    wait = Math.min(wait * 2 + 100, LONGEST_PAUSE);
  }
}

async function checkAssets() {
  const response = await call('/healthz');
  stream.assets = response.headers.get('x-chorus-assets');
}

/** @param {Response} response @param {boolean} isResumed @param {() => void} settle */
async function read(response, isResumed, settle) {
  const reader = /** @type {ReadableStream<any>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let hasBegun = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heardAt = Date.now();
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    /** @type {ChorusEvent[]} */
    const events = [];
    for (const line of lines) {
      if (!hasBegun && line.startsWith('id: ')) {
        hasBegun = true;
        begin(Number(line.slice(4)), isResumed);
        settle();
      } else if (line.startsWith('data:')) {
        const event = JSON.parse(line.slice(5));
        if (event.number > stream.last) events.push(event);
        stream.last = Math.max(stream.last, event.number);
      }
    }
    if (events.length) for (const listener of [...onEvents]) listener(events);
  }
}

/** @param {number} number @param {boolean} isResumed */
function begin(number, isResumed) {
  const isForeign = number < stream.last;
  if (!isResumed) stream.last = number;
  setState('live');
  if (!isResumed) for (const listener of [...onStart]) listener(number, isForeign);
}
