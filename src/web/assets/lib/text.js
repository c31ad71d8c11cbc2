// Small texts: counts that agree with their nouns, short ids, amounts.

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

/** The end of an id, which differs most between ids. @param {string} id */
export const shortId = (id) => (id.length > 12 ? id.slice(-8) : id);

/** @param {string} text @param {number} length */
export const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);

/** The first line that says something. @param {string} text */
export const firstLine = (text) => text.split('\n').find((line) => line.trim())?.trim() ?? '';

/** @param {number | null | undefined} cost */
export const dollars = (cost) => (cost === null || cost === undefined ? '' : cost < 0.01 && cost > 0 ? '<$0.01' : `$${cost.toFixed(2)}`);

/** @param {number} size */
export function bytes(size) {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} KB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

/** A colour for a name, always the same one: a hue. @param {string} name */
export function hue(name) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + Number(letter.codePointAt(0))) % 360;
  // Neighbouring numbers must not look alike.
  return (hash * 137) % 360;
}
