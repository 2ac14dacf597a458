/** Text as the wire counts it: in bytes of UTF-8. */

/** How many bytes it has. @param {string} text */
export function bytesOf(text) {
  let bytes = 0;
  for (const letter of text) bytes += width(letter);
  return bytes;
}

/**
 * Its beginning, of so many bytes at most.
 * @param {string} text
 * @param {number} most
 */
export function cut(text, most) {
  let bytes = 0;
  let kept = '';
  for (const letter of text) {
    bytes += width(letter);
    if (bytes > most) return kept;
    kept += letter;
  }
  return kept;
}

/** @param {string} letter */
function width(letter) {
  const code = /** @type {number} */ (letter.codePointAt(0));
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
