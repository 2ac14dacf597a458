// What axe-core finds on a page, and the size of all that can be pressed.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const axe = createRequire(join(process.env.NODE_TOOLS, 'from.js'))('axe-core');
const TARGET_PX_MIN = 44;

// `contrast`: also looks at colours, which takes three times as long as all else, and is the same at each size.
export async function assertAccessible(page, what, { contrast = true } = {}) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate((contrast) => {
    // Of colours that the system paints instead of the page's axe sees only half.
    const ours = !matchMedia('(forced-colors: active)').matches;
    return window.axe.run({ resultTypes: ['violations'], rules: { 'color-contrast': { enabled: contrast && ours } } });
  }, contrast);
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join('; ')}`);
  assert.deepEqual(found, [], `axe: ${what}`);
}

// `within`: the part of the page that is looked at.
export async function assertTouchTargets(page, what, within = 'body') {
  const targets = await page.evaluate(touchTargets, within);
  assert.ok(targets.length >= 2, `${what}: ${targets.length} targets`);
  const small = targets.filter(({ width, height }) => width < TARGET_PX_MIN || height < TARGET_PX_MIN);
  assert.deepEqual(small, [], `${what}: smaller than ${TARGET_PX_MIN} px`);
  return targets.length;
}

// Runs in the page: what can be pressed and is shown.
function touchTargets(within) {
  const pressed = 'a[href], button, select, input, summary, [role=button]';
  const shown = [...document.querySelector(within).querySelectorAll(pressed)].filter((target) => target.checkVisibility());
  return shown.map((target) => {
    const { width, height } = target.getBoundingClientRect();
    return { target: target.dataset.role ?? target.textContent.trim(), width, height };
  });
}
