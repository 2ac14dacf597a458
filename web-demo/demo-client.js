/** The page's client: its tokens come from the demo's route, and its connection can be cut under it. */

import { demoToken } from './demo-token.js';
import { Heartline } from './client/heartline.js';

export class DemoClient extends Heartline {
  /** Closes the socket. The client is not told, as a failing network would not tell it. */
  cut;

  /** @param {object} options  user, device, ackDelay, beforeConnecting(token): no connection is made before its promise ends */
  constructor({ user, device, ackDelay, beforeConnecting }) {
    let socket;
    super({
      user,
      ackDelay,
      device,
      fallback: false, // a gateway that is away is the point here, and what it costs is counted by sockets
      storageName: `heartline-demo/${device}`,
      getToken: async () => {
        const token = await demoToken(user);
        await beforeConnecting(token);
        return token;
      },
      WebSocket: class extends WebSocket {
        constructor(...parameters) {
          super(...parameters);
          socket = this;
        }
      },
    });
    this.cut = () => socket?.close();
  }

  /** Only while it is connected: HTTP would resend beats before `beforeConnecting`. They stay in the outbox until then. */
  flush() {
    if (this.state === 'online') super.flush();
  }
}
