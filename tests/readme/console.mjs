// node console.mjs URL SCRIPT TOKEN: runs the script in the console of the demo page, answers its prompt with the
// token, and prints what it logs until the first beat is on disk.
import { readFileSync } from 'node:fs';
import { launch } from '../browser/browser.mjs';

const [url, script, token] = process.argv.slice(2);
const browser = await launch();
try {
  const page = await browser.newPage();
  page.on('dialog', (dialog) => dialog.accept(token));
  await page.goto(url);
  const logged = page.waitForEvent('console', { timeout: 30_000 });
  // A console waits for what is awaited at its top level; a script does not.
  await page.evaluate(`(async () => { ${readFileSync(script, 'utf8')} })()`);
  console.log((await logged).text());
} finally {
  await browser.close();
}
