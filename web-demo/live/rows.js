/** Lists whose rows are written anew with each event. */

/** One row per item. `cells(item)`: [class, text] each; `about(item)`: its data attributes, and `share`, 0 to 1. */
export function writeRows(list, items, cells, about) {
  while (list.children.length > items.length) list.lastElementChild.remove();
  for (const [index, item] of items.entries()) {
    const row = list.children[index] ?? list.appendChild(document.createElement('li'));
    const { share, ...data } = about(item);
    Object.assign(row.dataset, data);
    if (share !== undefined) row.style.setProperty('--share', share.toFixed(4));
    row.replaceChildren(...cells(item).map(cell));
  }
}

function cell([name, text, tag = 'span']) {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}
