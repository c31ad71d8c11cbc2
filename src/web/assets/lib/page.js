// The frame around the views: the title with the count, the favicon, what screen readers are told, and the colours.

let name = 'Chorus';
let count = 0;

function showTitle() {
  document.title = `${count ? `(${count}) ` : ''}${name === 'Chorus' ? name : `${name} · Chorus`}`;
}

/** Names the view in the title. @param {string} title */
export function setTitle(title) {
  name = title || 'Chorus';
  showTitle();
}

/** Shows how many things need a person, in the title and the favicon. @param {number} number */
export function setCount(number) {
  count = number;
  showTitle();
  const dot = number ? '<circle cx="24" cy="8" r="8" fill="#d92d20"/>' : '';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#4f46e5"/><g fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"><path d="M8 12h9"/><path d="M8 17h14"/><path d="M8 22h11"/></g>${dot}</svg>`;
  document.querySelector('link[rel=icon]')?.setAttribute('href', `data:image/svg+xml,${encodeURIComponent(svg)}`);
}

/** Tells screen readers about something that happened. @param {string} text */
export function announce(text) {
  const region = document.getElementById('news');
  if (!region) return;
  // Cleared first: the same text twice is two pieces of news.
  region.textContent = '';
  setTimeout(() => { region.textContent = text; }, 50);
}

const THEME = 'chorus-theme';

/** The colours: as the system says, light, or dark. */
export const theme = {
  /** @returns {string} */
  get value() {
    try { return localStorage.getItem(THEME) ?? 'system'; } catch { return 'system'; }
  },
  /** @param {string} value @returns {void} */
  set(value) {
    try { localStorage.setItem(THEME, value); } catch { /* lasts until the page is left */ }
    this.apply(value);
  },
  /** @param {string} [given] @returns {void} */
  apply(given) {
    const value = given ?? this.value;
    if (value === 'light' || value === 'dark') document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  },
};
