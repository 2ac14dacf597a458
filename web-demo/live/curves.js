/** The two curves: numbers of sessions, the oldest first, drawn whole with each event. */

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 100;
/** Between two bars, of the width of one. */
const GAP = 0.25;

/** The last minute: a line, and the area under it. */
export function drawLine(svg, numbers) {
  const heights = scaled(numbers);
  const line = heights.map((height, index) => `${index ? 'L' : 'M'}${index} ${height}`).join('');
  draw(svg, { under: `${line}V${HEIGHT}H0Z`, curve: line });
  describe(svg, numbers);
}

/** The last hour: a bar a minute. */
export function drawBars(svg, numbers) {
  const bars = scaled(numbers).map((height, index) => `M${index + GAP / 2} ${HEIGHT}V${height}h${1 - GAP}V${HEIGHT}Z`);
  draw(svg, { bars: bars.join('') });
  describe(svg, numbers);
}

/** The highest number is at the top, and 0 at the bottom. */
function scaled(numbers) {
  const most = Math.max(1, ...numbers);
  return numbers.map(number => (HEIGHT * (1 - number / most)).toFixed(2));
}

function draw(svg, paths) {
  for (const [name, d] of Object.entries(paths)) {
    let path = svg.querySelector(`.${name}`);
    if (!path) {
      path = svg.appendChild(document.createElementNS(SVG, 'path'));
      path.setAttribute('class', name);
    }
    path.setAttribute('d', d);
  }
}

function describe(svg, numbers) {
  const [newest, most, least] = [numbers.at(-1), Math.max(...numbers), Math.min(...numbers)];
  Object.assign(svg.dataset, { newest, most, least });
  svg.setAttribute('aria-label', `Now ${newest} sessions, at most ${most}, at least ${least}`);
}
