/**
 * A headless person whose browser writes down every path it visits, codes included:
 *
 *     node recording-browser.ts FILE URL
 *
 * So that a test can look for the codes everywhere else. The file belongs to the test's world.
 */
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { subscribe } from 'node:diagnostics_channel';
import { signInAt } from '../../../demo/user-agent.ts';

const [file = '', url = ''] = process.argv.slice(2);

subscribe('undici:request:create', (message) => {
  const { request } = message as { readonly request: { readonly path: string } };
  appendFileSync(file, `${request.path}\n`);
});
await signInAt(url, { account: 'alice', ca: await readFile(process.env['KEYTURN_DEMO_CA'] ?? '', 'utf8') });
