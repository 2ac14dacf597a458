/**
 * Calls `hidden(first)` whenever the page may be about to end. A page put aside on a phone may end without another
 * event, one that is left may be visible until then, and many get both events: `first` is true for the first of them.
 */
export function whenHidden(hidden, signal) {
  let already = false;
  const hide = () => {
    hidden(!already);
    already = true;
  };
  const show = () => { already = false; };
  document.addEventListener('visibilitychange', () => (document.hidden ? hide() : show()), { signal });
  window.addEventListener('pagehide', hide, { signal });
  window.addEventListener('pageshow', show, { signal });
}
