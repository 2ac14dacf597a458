// What the page says when something that was acked is gone, or could not be looked for.
import assert from 'node:assert/strict';

const USER = '1001';
const KIND = 1;
const LOST = '101';

async function untilSaved(device, oid) {
  await device.part('content').selectOption(oid);
  const acked = await device.number('acked', 'data-count');
  await device.click('play');
  await device.untilPlayed(1_500);
  // A playhead that is where it was left has played that much already, and a pause that changes nothing makes no beat.
  await device.untilAtLeast('acked', 'data-count', acked + 1);
  await device.pause();
  await device.outboxEmpty();
  await device.untilIs('acked', 'data-oid', oid);
}

// A page with no steps done and no positions acked. A page that is left says where it stood, and the next one may resend that;
// the one after it has nothing to send.
async function startAfresh({ page, phone, tv }) {
  await page.evaluate(() => sessionStorage.removeItem('heartline-demo/guide'));
  for (let reload = 0; reload < 2; reload++) {
    await page.reload();
    for (const device of [phone, tv]) await device.online();
    for (const device of [phone, tv]) await device.outboxEmpty();
  }
}

async function untilPlaying(device) {
  await device.click('play');
  await device.untilPlayed(1_500);
  await device.untilAtLeast('acked', 'data-count', 1);
}

async function deletePosition(url, oid) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ mid: USER, ttl: 60 });
  const { token } = await (await fetch(`${url}/demo/token`, { method: 'POST', headers, body })).json();
  const bearer = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/v1/history/${KIND}/${oid}`, { method: 'DELETE', headers: bearer });
  assert.equal(answer.status, 204);
}

// On another port than the page knows, so that it sees nothing of it.
async function deleteBehindItsBack(gateway) {
  const { listen } = gateway;
  gateway.listen = '127.0.0.1:0';
  await gateway.start();
  await deletePosition(gateway.url, LOST);
  await gateway.kill();
  gateway.listen = listen;
}

export const steps = [
  [
    'both devices are online',
    async ({ demo: { page, phone, tv } }) => {
      await page.locator('[data-role=user]').selectOption(USER);
      for (const device of [phone, tv]) await device.online();
    },
  ],
  [
    'all data is deleted after the kill while the TV plays: its resent beats do not hide the loss',
    async ({ demo, gateway, shot }) => {
      const { guide, tv } = demo;
      await startAfresh(demo);
      await untilPlaying(tv);
      await gateway.kill();
      await tv.untilAtLeast('outbox', 'data-count', 1);
      const acked = await tv.number('acked', 'data-count');
      gateway.deleteData();
      await gateway.start();
      const { text, resent, ...found } = await guide.recovery();
      assert.deepEqual(found, { checked: acked, readBack: 0, lost: acked });
      assert.ok(resent >= 1);
      assert.equal(text, `Data loss: ${acked} lost`);
      assert.match(await guide.seen('kill'), new RegExp(`${acked} of ${acked} acked beats lost`));
      assert.ok(!(await guide.done()).includes('kill'));
      await tv.untilAtLeast('acked', 'data-count', (await tv.number('acked', 'data-count')) + 1);
      await shot('wiped');
    },
  ],
  [
    'findings for one user are not shown to the next',
    async ({ demo: { page, guide, phone, tv } }) => {
      assert.equal(await guide.part('recovered').isVisible(), true);
      for (const user of ['7', USER]) {
        await page.locator('[data-role=user]').selectOption(user);
        assert.equal(await guide.part('recovered').isVisible(), false);
        assert.equal(await guide.step('kill').locator('[data-role=seen]').isVisible(), false);
      }
      for (const device of [phone, tv]) await device.online();
    },
  ],
  [
    'a position that is deleted while the TV is cut off is lost, although the TV saves it again',
    async ({ demo, gateway }) => {
      const { page, guide, phone, tv } = demo;
      await startAfresh(demo);
      await phone.click('offline');
      await untilPlaying(tv);
      let connect;
      const mayConnect = new Promise((resolve) => { connect = resolve; });
      await page.route('**/demo/token', async (route) => {
        await mayConnect;
        await route.continue();
      });
      await tv.click('cut');
      await tv.untilAttribute('state', 'data-state', 'is connecting', '===', 'connecting');
      await deletePosition(gateway.url, '100');
      await tv.pause();
      connect();
      await guide.step('cut').locator('[data-role=seen]').waitFor();
      await page.unroute('**/demo/token');
      assert.match(await guide.seen('cut'), /(\d+) of \1 acked beats lost/);
      assert.ok(!(await guide.done()).includes('cut'));
    },
  ],
  [
    'a beat that two losses of one outage leave without an ack is resent once',
    async ({ demo }) => {
      const { page, guide, phone, tv } = demo;
      await startAfresh(demo);
      await page.evaluate(makeAcksStoppable);
      // A change of user makes new clients.
      for (const user of ['7', USER]) await page.locator('[data-role=user]').selectOption(user);
      for (const device of [phone, tv]) await device.online();
      await untilPlaying(tv);
      await page.evaluate(() => { window.acksStopped = true; });
      await tv.pause();
      const left = await tv.number('outbox', 'data-count');
      assert.ok(left >= 1);
      for (const stopped of [true, false]) {
        await page.evaluate((value) => { window.acksStopped = value; }, stopped);
        const welcomes = await tv.tapeRows('welcome').count();
        await tv.click('cut');
        await tv.tapeRows('welcome').nth(welcomes).waitFor({ state: 'attached' });
        await tv.online();
      }
      await guide.untilDone('cut');
      assert.equal(await guide.seen('cut'), `Resent ${left === 1 ? '1 beat' : `${left} beats`}, lost 0.`);
    },
  ],
  [
    'unacked beats that a full outbox dropped are not acked ones lost',
    async ({ demo: { page, guide } }) => {
      let starts = 0;
      await page.route('**/demo/process', (route) => route.fulfill({ json: { pid: 1, instance: String(starts++) } }));
      const result = await page.evaluate(dropThree);
      await page.unroute('**/demo/process');
      assert.deepEqual([result.checked, result.lost, result.dropped], [0, 0, 3]);
      assert.match(await guide.part('recovered').textContent(), /3\s*dropped unacked/);
      assert.equal(await guide.part('recovered-lost').textContent(), 'Recovered: 0 lost');
    },
  ],
  [
    'without a read of the positions no loss is claimed',
    async ({ demo, gateway, shot }) => {
      const { page, guide, tv } = demo;
      await startAfresh(demo);
      await untilSaved(tv, '100');
      await page.route('**/v1/history/get', (route) => route.abort());
      await gateway.kill();
      await gateway.start();
      const { text, ...found } = await guide.recovery();
      await page.unroute('**/v1/history/get');
      assert.equal(text, 'Not checked');
      assert.deepEqual(found, { checked: NaN, readBack: NaN, lost: NaN, resent: 0 });
      assert.match(await guide.seen('kill'), /could not be read back/);
      assert.ok(!(await guide.done()).includes('kill'));
      await shot('not-checked');
    },
  ],
  [
    'a position that is gone after the kill is reported as lost, and the step is not ticked off',
    async ({ demo, gateway, shot }) => {
      const { guide, tv } = demo;
      await startAfresh(demo);
      await untilSaved(tv, LOST);
      const lost = await tv.number('acked', 'data-count');
      await untilSaved(tv, '102');
      const checked = await tv.number('acked', 'data-count');
      await gateway.kill();
      await tv.untilIs('state', 'data-state', 'waiting');
      await deleteBehindItsBack(gateway);
      await gateway.start();
      const { text, ...found } = await guide.recovery();
      assert.deepEqual(found, { checked, readBack: checked - lost, lost, resent: 0 });
      assert.equal(text, `Data loss: ${lost} lost`);
      assert.match(await guide.seen('kill'), new RegExp(`${lost} of ${checked} acked beats lost`));
      assert.ok(!(await guide.done()).includes('kill'));
      await shot('lost');
    },
  ],
  [
    'positions that the user deleted do not count as lost',
    async ({ demo: { guide, tv }, gateway }) => {
      await tv.click('delete');
      await tv.part('history').locator('[data-oid="102"]').waitFor({ state: 'detached' });
      const before = await tv.number('acked', 'data-count');
      await untilSaved(tv, '100');
      const saved = (await tv.number('acked', 'data-count')) - before;
      await gateway.kill();
      await gateway.start();
      await guide.untilDone('kill');
      const { checked, readBack, lost } = await guide.recovery();
      assert.deepEqual({ checked, readBack, lost }, { checked: saved, readBack: saved, lost: 0 });
    },
  ],
];

// Runs in the page: while `acksStopped`, later clients get no acks.
function makeAcksStoppable() {
  window.WebSocket = class extends WebSocket {
    set onmessage(receive) {
      super.onmessage = receive && ((event) => {
        if (!window.acksStopped || !('ack' in JSON.parse(event.data))) receive(event);
      });
    }
  };
}

// Runs in the page: an outage in which a device, here without a client, had to drop beats.
async function dropThree() {
  const [{ Guide }, { Recovery }] = await Promise.all([import('/demo/guide.js'), import('/demo/recovery.js')]);
  const device = Object.assign(new EventTarget(), { name: 'tv', wanted: true, settled: true });
  const tell = (type, detail) => device.dispatchEvent(new CustomEvent(type, { detail }));
  const recovery = new Recovery([device]);
  new Guide(document.querySelector('[data-role=guide]')).follow([device], recovery);
  const recovered = new Promise((resolve) => recovery.addEventListener('recovered', ({ detail }) => resolve(detail)));
  const known = new Promise((resolve) => recovery.addEventListener('process', resolve, { once: true }));
  tell('welcomed', { unanswered: [] });
  await known;
  tell('lost', { code: 1006, cut: false });
  for (let beat = 0; beat < 3; beat++) tell('dropped');
  tell('settled');
  return recovered;
}
