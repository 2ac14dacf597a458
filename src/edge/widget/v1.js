/*
 * Shows how many are watching, where this line stands in a page:
 *
 *   <script src="https://GATEWAY/widget/v1.js" async></script>
 *
 * data-content="1:100" shows one content (kind:oid) instead, as long as the gateway lists it. data-top="5" lists the contents
 * with the most viewers below the number. data-label="Zuschauer" replaces the word "watching". Text has the font and color of
 * the page.
 */
(() => {
  // Longer than the 2 s for which the browser keeps an answer.
  const PERIOD_MS = 2200;
  const LONGEST_MS = 60000;
  // One request that fails is no news: numbers that came this long ago are still shown.
  const FRESH_MS = 15000;
  const STYLE = ':host{display:inline-block}:host([hidden]){display:none}i{display:inline-block;width:.6em;height:.6em;'
    + 'margin-inline-end:.4em;border-radius:50%;background:#e0453a}ol{margin:.3em 0 0;padding-inline-start:1.5em}'
    + 'b{font-variant-numeric:tabular-nums}a{color:inherit}';

  const script = document.currentScript;
  const { content, top = 0, label = 'watching' } = script.dataset;
  const url = new URL('v1.json', script.src);
  const count = new Intl.NumberFormat().format;
  // Elements of one gateway share one feed.
  const feeds = (window.heartlineWidgets ??= {});

  const host = document.createElement('span');
  host.hidden = true;
  script.after(host);
  const root = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  const element = (name, ...children) => {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  };

  const row = ({ kind, oid, title = `${kind}:${oid}`, url: page, users }) => {
    const name = element(page ? 'a' : 'span', title);
    if (/^https?:/.test(page)) name.href = page;
    return element('li', name, ' ', element('b', count(users)));
  };

  // null: the numbers are not known.
  const show = numbers => {
    const listed = numbers?.top.find(({ kind, oid }) => `${kind}:${oid}` === content);
    const watching = content ? listed?.users : numbers?.watching;
    host.hidden = watching === undefined;
    if (host.hidden) return;
    const dot = element('i');
    dot.setAttribute('aria-hidden', 'true');
    const rows = numbers.top.slice(0, top).map(row);
    root.replaceChildren(dot, element('b', count(watching)), ` ${label}`, ...(rows.length ? [element('ol', ...rows)] : []));
  };

  const follow = () => {
    const shows = [];
    let numbers = null;
    let asking = false;
    let timer;
    let asked = -Infinity;
    let answered = -Infinity;
    let wait = PERIOD_MS;
    const ask = async () => {
      asked = performance.now();
      asking = true;
      try {
        const answer = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(10000) });
        if (!answer.ok) throw answer;
        numbers = await answer.json();
        answered = performance.now();
        wait = PERIOD_MS;
      } catch {
        if (performance.now() - answered > FRESH_MS) numbers = null;
        wait = Math.min(2 * wait, LONGEST_MS);
      }
      asking = false;
      for (const each of shows) each(numbers);
      plan();
    };
    // Nothing is asked while the page is hidden.
    const plan = () => {
      clearTimeout(timer);
      if (!document.hidden && !asking) timer = setTimeout(ask, Math.max(0, asked + wait - performance.now()));
    };
    document.addEventListener('visibilitychange', plan);
    plan();
    return each => {
      shows.push(each);
      each(numbers);
    };
  };

  (feeds[url] ??= follow())(show);
})();
