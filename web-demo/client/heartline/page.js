/** What a page tells of itself: that it may be about to end, and whether there is a network. */

/**
 * Follows the page, where there is one. `hidden(first)` is called whenever the page may be about to end. A page put
 * aside on a phone may end without another event, one that is left may be visible until then, and many get both events:
 * `first` is true for the first of them.
 * @param {{ hidden: (first: boolean) => void, online: () => void, offline: () => void }} on
 * @returns {() => void} ends it
 */
export function followPage({ hidden, online, offline }) {
  const { document, window } = globalThis;
  if (!document || !window || !window.addEventListener) return () => {};
  let already = false;
  const hide = () => {
    hidden(!already);
    already = true;
  };
  const show = () => { already = false; };
  const turn = () => (document.hidden ? hide() : show());
  /** @type {[EventTarget, string, () => void][]} */
  const all = [
    [document, 'visibilitychange', turn], [window, 'pagehide', hide], [window, 'pageshow', show],
    [window, 'online', online], [window, 'offline', offline],
  ];
  for (const [target, type, act] of all) target.addEventListener(type, act);
  return () => all.forEach(([target, type, act]) => target.removeEventListener(type, act));
}
