// Whether this page may keep its stream open. Browsers allow six connections per server for all tabs together, so a stream in each of many
// tabs would leave none for anything else. Every visible page has one; of the hidden pages one alone, for the title and notifications; a page
// that was left has none, even if the browser keeps it for the way back.

const GRACE = 5000;

let isLeft = false;
let isHolding = false;
let resume = () => {};
let release = () => {};
let waiting = new AbortController();

/** Whether a stream may be open now. */
export const mayStream = () => !isLeft && (!document.hidden || isHolding);

/** Resolves when a stream may be open. */
export async function turn() {
  while (!mayStream()) await new Promise((resolve) => { resume = () => resolve(undefined); });
}

/** Waits for the turn of a hidden page, behind the other hidden pages. Locks need TLS or this machine. */
function queue() {
  waiting = new AbortController();
  navigator.locks?.request('chorus-hidden-stream', { signal: waiting.signal }, () => new Promise((done) => {
    isHolding = true;
    release = () => {
      isHolding = false;
      done(undefined);
    };
    resume();
  })).catch(() => { /* visible again */ });
}

/** @param {() => void} close closes the stream if the page may not keep it */
export function watchTurn(close) {
  /** @type {any} */
  let timer = null;
  const leave = () => {
    clearTimeout(timer);
    waiting.abort();
    release();
    release = () => {};
  };
  document.addEventListener('visibilitychange', () => {
    leave();
    if (!document.hidden) return resume();
    queue();
    timer = setTimeout(() => { if (!mayStream()) close(); }, GRACE);
  });
  addEventListener('pagehide', () => {
    isLeft = true;
    leave();
    close();
  });
  addEventListener('pageshow', () => {
    isLeft = false;
    resume();
  });
  if (document.hidden) queue();
}
