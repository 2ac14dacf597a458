/** The views of a content by day: a bar a day, the newest at the right. */

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 100;
/** Between two bars, of the width of one. */
const GAP = 0.2;
/** A day with views is seen, however few they are beside the most. */
const LEAST = 3;

/** @param {{ day: string, views: number }[]} days  @param {number} most  views at the upper edge */
export function drawDays(svg, days, most) {
  svg.setAttribute('viewBox', `0 0 ${days.length} ${HEIGHT}`);
  svg.replaceChildren(...days.map(({ day, views }, index) => bar(day, views, index, most)));
  const [newest, all] = [days.at(-1), days.reduce((sum, { views }) => sum + views, 0)];
  svg.setAttribute('aria-label', `${all} views in ${days.length} days, ${newest.views} of them on ${newest.day}`);
}

function bar(day, views, index, most) {
  const height = views && Math.max(LEAST, HEIGHT * views / most);
  const rect = document.createElementNS(SVG, 'rect');
  const place = { x: index + GAP / 2, y: HEIGHT - height, width: 1 - GAP, height };
  for (const [name, value] of Object.entries(place)) rect.setAttribute(name, value);
  Object.assign(rect.dataset, { day, views });
  const title = rect.appendChild(document.createElementNS(SVG, 'title'));
  title.textContent = `${day}: ${views}`;
  return rect;
}
