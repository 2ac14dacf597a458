/**
 * Private names as ES2019 can say them: `#outbox` becomes `_b`. What compilers make of private names otherwise, a WeakMap
 * each, takes a fifth more room.
 *
 * The names of a class are its own, since only its code can say them. A class that extends another gets names that its
 * base does not have.
 */

import { parse } from 'acorn';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];

/** The module without private names. @param {string} text */
export function withoutPrivateNames(text) {
  const found = [];
  look(parse(text, { ecmaVersion: 2022, sourceType: 'module' }), null, found);
  found.sort((one, other) => one.start - other.start);
  let [made, from] = ['', 0];
  for (const { start, end, name } of found) {
    made += text.slice(from, start) + name;
    from = end;
  }
  return made + text.slice(from);
}

/** Adds where private names are said below the node, and the names that they get. */
function look(node, names, found) {
  if (node.type === 'PrivateIdentifier') found.push({ start: node.start, end: node.end, name: names.get(node.name) });
  const own = node.type === 'ClassDeclaration' || node.type === 'ClassExpression' ? namesOf(node, names) : names;
  for (const below of Object.values(node).flat()) {
    if (below && typeof below.type === 'string') look(below, own, found);
  }
}

/** The private names that can be said in a class: those of what is around it, too. */
function namesOf({ superClass, body }, around) {
  const own = new Set(body.body.map(({ key }) => key).filter(isPrivate).map(({ name }) => name));
  if (own.size > LETTERS.length) throw new Error(`a class has ${own.size} private names, more than there are letters`);
  if (around && own.size > 0) throw new Error('a class with private names is in another: both would have the same names');
  const start = superClass ? '__' : '_';
  return new Map([...(around || []), ...[...own].map((name, index) => [name, start + LETTERS[index]])]);
}

function isPrivate(key) {
  return Boolean(key) && key.type === 'PrivateIdentifier';
}
