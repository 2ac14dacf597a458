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

// Likewise, from the first moment in which it is shown, however soon it goes.
export async function assertNeverCovers(page, selector) {
  const covered = await page.evaluate(`(${atFirstSight})(${under}, ${JSON.stringify(selector)})`);
  assert.deepEqual(covered, [], `${selector}: covered`);
}

// All words of the heart lines are on their papers.
export async function assertLabelsWhole(page, what) {
  assert.deepEqual(await page.evaluate(cutLabels), [], `${what}: labels of a heart line`);
}

// The time that the clips show in their picture is in sight, and nothing lies over it.
export async function assertTimeInSight(page, what) {
  assert.deepEqual(await page.evaluate(hiddenTimes), [], `${what}: the time in a picture`);
}

// The parts of this one do not lie over each other.
export async function assertApart(page, parts, what) {
  assert.deepEqual(await page.evaluate(overlaps, parts), [], `${what}: parts that overlap`);
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

// Runs in the page: what `look` finds as soon as it finds anything. A change is looked at before anything else happens.
function atFirstSight(look, selector) {
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const found = look(selector);
      if (found === null) return;
      observer.disconnect();
      resolve(found);
    });
    observer.observe(document.body, { attributes: true, childList: true, characterData: true, subtree: true });
  });
}

// Runs in the page.
function cutLabels() {
  const ROUNDING_PX = 1;
  const cut = [];
  for (const sheet of document.querySelectorAll('[data-role=sheet]')) {
    const { top, bottom } = sheet.getBoundingClientRect();
    for (const label of sheet.querySelectorAll('text')) {
      const box = label.getBoundingClientRect();
      const whole = box.top >= top - ROUNDING_PX && box.bottom <= bottom + ROUNDING_PX;
      if (!whole) cut.push(`${label.textContent}: ${box.top} to ${box.bottom}, of ${top} to ${bottom}`);
    }
  }
  return cut;
}

// Runs in the page: devices in whose picture the clip's time is cut off or covered.
function hiddenTimes() {
  // Where make-clip.sh puts the time, in pixels of the clip.
  const TIME = { left: 36, right: 222, top: 30, bottom: 98 };
  const hidden = [];
  for (const device of document.querySelectorAll('[data-device]')) {
    const video = device.querySelector('video');
    const { videoWidth: width, videoHeight: height } = video;
    const picture = video.getBoundingClientRect();
    const scale = Math.max(picture.width / width, picture.height / height);
    const [across, down] = getComputedStyle(video).objectPosition.split(' ').map((share) => parseFloat(share) / 100);
    const x = (pixels) => picture.left + (picture.width - width * scale) * across + pixels * scale;
    const y = (pixels) => picture.top + (picture.height - height * scale) * down + pixels * scale;
    const time = { left: x(TIME.left), right: x(TIME.right), top: y(TIME.top), bottom: y(TIME.bottom) };
    const beside = time.left < picture.left || time.right > picture.right;
    const cut = beside || time.top < picture.top || time.bottom > picture.bottom;
    if (cut) hidden.push(`${device.dataset.device}: ${JSON.stringify(time)} of ${JSON.stringify(picture)}`);
    for (const over of device.querySelectorAll('.resume, .elsewhere, .watching, .unrecorded, .toast')) {
      const box = over.getBoundingClientRect();
      const meets = box.left < time.right && time.left < box.right && box.top < time.bottom && time.top < box.bottom;
      if (over.checkVisibility() && meets) hidden.push(`${device.dataset.device}: under "${over.textContent}"`);
    }
  }
  return hidden;
}

// Runs in the page.
function overlaps(selector) {
  const parts = [...document.querySelectorAll(selector)].filter((part) => part.checkVisibility());
  const boxes = parts.map((part) => [part.textContent.trim().slice(0, 20) || part.tagName, part.getBoundingClientRect()]);
  const across = (one, other) => one.left < other.right && other.left < one.right;
  const meet = (one, other) => across(one, other) && one.top < other.bottom && other.top < one.bottom;
  return boxes.flatMap(([name, box], index) => {
    return boxes.slice(index + 1).filter(([, other]) => meet(box, other)).map(([other]) => `${name} and ${other}`);
  });
}
