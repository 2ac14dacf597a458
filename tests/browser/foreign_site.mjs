// A web site of another origin than the gateway's, with the widget's line in its pages.
import { createServer } from 'node:http';

export class ForeignSite {
  // Its pages allow scripts, images and requests of the gateway, and nothing else.
  static async open(gateway) {
    const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src ${gateway}; connect-src ${gateway}; img-src ${gateway}`;
    const server = createServer((request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy });
      response.end(html(gateway));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A story that fails does not close it.
    server.unref();
    return new ForeignSite(server);
  }

  constructor(server) {
    this.server = server;
    this.url = `http://127.0.0.1:${server.address().port}/`;
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function html(gateway) {
  const line = (options) => `<script src="${gateway}/widget/v1.js" async ${options}></script>`;
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>A film club</title>
  <style>
    body { max-width: 40em; margin: 2em auto; padding: 0 1em; font: 17px/1.5 Georgia, serif; color: #2a1d12; background: #fbf6ee; }
    @media (prefers-color-scheme: dark) { body { color: #efe4d4; background: #1d1713; } }
  </style>
</head>
<body>
  <main>
    <h1>A film club</h1>
    <p id="all">Tonight: ${line('')}</p>
    <p id="dawn">Dawn: ${line('data-content="1:100"')}</p>
    <p id="unknown">A film that is not on: ${line('data-content="9:9"')}</p>
    <div id="list">${line('data-top="3" data-label="in the hall"')}</div>
    <p><img src="${gateway}/widget/v1.svg" alt="Number of people watching"></p>
  </main>
</body>
</html>`;
}
