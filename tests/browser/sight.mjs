// What keeps a user from reading a page: text that is cut off or covered, and a page that scrolls sideways.
import assert from 'node:assert/strict';

export async function assertReadable(page, what) {
  assert.deepEqual(await page.evaluate(tooWide), [], `${what}: wider than the screen`);
  assert.deepEqual(await page.evaluate(clipped), [], `${what}: cut off`);
}

// What `selector` names covers neither text nor anything that can be pressed, as soon as it is shown.
export async function assertCoversNothing(page, selector) {
  const covered = await page.waitForFunction(under, selector);
  assert.deepEqual(await covered.jsonValue(), [], `${selector}: covered`);
}

// Runs in the page: what makes it scroll sideways.
function tooWide() {
  const page = document.documentElement;
  if (page.scrollWidth <= window.innerWidth) return [];
  const right = (element) => Math.round(element.getBoundingClientRect().right);
  const wide = [...document.querySelectorAll('body :not(svg *)')].filter((element) => right(element) > window.innerWidth);
  return [`${page.scrollWidth} px`, ...wide.map((element) => `${element.outerHTML.slice(0, 80)} to ${right(element)}`)];
}

// Runs in the page: elements that hide a part of the text in them. An ellipsis says that there is more; what only a
// screen reader shall find is clipped altogether.
function clipped() {
  const ROUNDING_PX = 1;
  const hides = (overflow) => overflow === 'hidden' || overflow === 'clip';
  return [...document.querySelectorAll('body *')].filter((element) => {
    if (!element.checkVisibility() || !element.innerText?.trim()) return false;
    for (let each = element; each; each = each.parentElement) {
      if (getComputedStyle(each).clipPath === 'inset(50%)') return false;
    }
    const { overflowX, overflowY, textOverflow } = getComputedStyle(element);
    const wide = element.scrollWidth > element.clientWidth + ROUNDING_PX;
    const high = element.scrollHeight > element.clientHeight + ROUNDING_PX;
    return (wide && hides(overflowX) && textOverflow !== 'ellipsis') || (high && hides(overflowY));
  }).map((element) => element.outerHTML.slice(0, 120));
}

// Runs in the page: what is under these elements; null while none is shown.
function under(selector) {
  const covers = [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  if (covers.length === 0) return null;
  const needed = (element) => element.matches('a, button, input, select, summary') ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const shown = (element) => element.checkVisibility() && getComputedStyle(element).clipPath !== 'inset(50%)';
  const all = [...document.querySelectorAll('body *:not(svg *)')].filter(needed).filter(shown);
  const apart = (cover, element) => !cover.contains(element) && !element.contains(cover);
  const meet = (cover, element) => {
    const [one, other] = [cover, element].map((each) => each.getBoundingClientRect());
    const beside = one.right <= other.left || other.right <= one.left;
    return !beside && one.top < other.bottom && other.top < one.bottom;
  };
  const covered = covers.flatMap((cover) => all.filter((element) => apart(cover, element) && meet(cover, element)));
  return covered.map((element) => element.outerHTML.slice(0, 120));
}
