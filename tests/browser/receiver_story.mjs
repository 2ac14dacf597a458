// Webhooks: two receivers in the gateway, one of which is made slow, broken and healthy again.
import assert from 'node:assert/strict';

const OTHER_USER = '7';

export const steps = [
  [
    'both receivers subscribe, and have nothing to get',
    async ({ demo: { receivers } }) => {
      await receivers.root.waitFor({ state: 'visible' });
      await receivers.click('subscribe');
      for (const name of ['receiver', 'neighbour']) {
        await receivers.until(name, 'state', 'active');
        await receivers.until(name, 'received', 0);
      }
    },
  ],
  [
    'a reward comes to both at once',
    async ({ demo: { receivers, phone } }) => {
      await phone.click('play');
      for (const name of ['receiver', 'neighbour']) await receivers.until(name, 'received', 2);
      await phone.pause();
    },
  ],
  [
    'broken, one gets nothing and its queue grows; its neighbour gets everything',
    async ({ demo: { page, receivers, phone }, shot }) => {
      await receivers.click('broken');
      await phone.part('content').selectOption('101');
      await phone.click('play');
      await receivers.until('neighbour', 'received', 3);
      await receivers.until('receiver', 'state', 'failing');
      await receivers.until('receiver', 'depth', 1);
      await page.locator('[data-role=user]').selectOption(OTHER_USER);
      await phone.online();
      await phone.click('play');
      await receivers.until('neighbour', 'received', 5);
      await receivers.until('receiver', 'depth', 3);
      await phone.pause();
      assert.equal(await receivers.value('receiver', 'received'), '2');
      assert.match(await receivers.card('receiver').innerText(), /Failing \(HTTP 500\), next try (in \d+ s|now), 2 confirmed/);
      await shot('receivers');
    },
  ],
  [
    'healthy again, it gets all of them without waiting for its next try',
    async ({ demo: { receivers } }) => {
      await receivers.click('healthy');
      await receivers.until('receiver', 'received', 5);
      await receivers.until('receiver', 'depth', 0);
      await receivers.until('receiver', 'state', 'active');
    },
  ],
  [
    'slow, it gets one after the other',
    async ({ demo: { receivers, phone } }) => {
      await receivers.click('slow');
      await phone.part('content').selectOption('102');
      await phone.click('play');
      await receivers.until('neighbour', 'received', 6);
      await receivers.until('receiver', 'depth', 1);
      await receivers.until('receiver', 'received', 6);
      await phone.pause();
    },
  ],
  [
    'a killed gateway still has both subscribers, and what one is owed',
    async ({ demo: { page, receivers, phone }, gateway }) => {
      await receivers.click('broken');
      await phone.part('content').selectOption('101');
      await phone.click('play');
      await receivers.until('receiver', 'depth', 1);
      await phone.pause();
      await gateway.kill();
      await gateway.start();
      await page.reload();
      // It is healthy since the restart, and has confirmed nothing before.
      await receivers.root.waitFor({ state: 'visible' });
      await receivers.click('healthy');
      await receivers.until('receiver', 'received', 1);
      await receivers.until('receiver', 'depth', 0);
    },
  ],
  [
    'broken, it owes twenty rewards that the page sends, and is amber; its neighbour has them',
    async ({ demo: { receivers }, memory, shot }) => {
      await receivers.until('receiver', 'state', 'active');
      memory.neighbour = Number(await receivers.value('neighbour', 'received'));
      const green = await paintOfQueue(receivers);
      await receivers.click('broken');
      await receivers.click('send');
      assert.equal(await receivers.part('send').getAttribute('aria-disabled'), 'true');
      await receivers.until('neighbour', 'received', memory.neighbour + 20);
      await receivers.until('receiver', 'depth', 20);
      await receivers.until('receiver', 'state', 'failing');
      const [amber, soft] = await Promise.all(['--earned', '--soft'].map((name) => paint(receivers, name)));
      assert.notEqual(amber, green);
      assert.equal(await paintOfQueue(receivers), amber);
      for (const [name, color] of [['receiver', amber], ['neighbour', soft]]) {
        const served = receivers.card(name).locator('[data-role=served]');
        assert.equal(await served.evaluate((line) => getComputedStyle(line).color), color, name);
      }
      await receivers.root.locator('[data-role=send][aria-disabled=false]').waitFor();
      assert.equal(await receivers.part('fault').isVisible(), false);
      await shot('receivers-failing');
      await receivers.click('healthy');
      await receivers.until('receiver', 'depth', 0);
    },
  ],
  [
    'unsubscribed, neither gets anything',
    async ({ demo: { receivers } }) => {
      await receivers.click('unsubscribe');
      await receivers.part('cards').waitFor({ state: 'hidden' });
      await receivers.part('subscribe').waitFor({ state: 'visible' });
      assert.equal(await receivers.part('send').isVisible(), false);
    },
  ],
];

function paintOfQueue(receivers) {
  const queue = receivers.card('receiver').locator('[data-role=queue]');
  return queue.evaluate((bar) => getComputedStyle(bar, '::before').backgroundColor);
}

// The colour of that name, as a style has it.
function paint(receivers, name) {
  return receivers.root.evaluate((root, name) => {
    const probe = root.appendChild(document.createElement('i'));
    probe.style.color = `var(${name})`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }, name);
}
