// node throwing_listeners.mjs URL TOKEN: plays two seconds as user 8, with listeners that all throw; prints how many did
// so, and what is stored.
import { Heartline } from '../../web-demo/client/heartline.js';
import { Media } from './media.mjs';
import { until } from './stage.mjs';

const [url, token] = process.argv.slice(2);
let thrown = 0;
process.on('uncaughtException', () => { thrown += 1; });

const client = new Heartline({ user: '8', getToken: async () => token, url, storage: null });
for (const name of ['state', 'welcome', 'outbox', 'beat', 'acked', 'frame']) {
  client.addEventListener(name, () => { throw new Error(name); });
}
client.connect();
const media = new Media();
client.play(media, { kind: 1, oid: '100' });
media.play();
media.advance(2);
media.pause();
await until('the acks', () => client.state === 'online' && client.unanswered === 0);
const [record] = await client.get([{ kind: 1, oid: '100' }]);
console.log(JSON.stringify({ thrown, stored: record.pos }));
client.close();
