/** The broker signs in at the servers that README prints, as they are printed there. */
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runPrinted } from '../docs/printed-program.ts';
import { newHome } from '../support/home.ts';
import { freePort } from '../support/servers/port.ts';

const userAgent = path.join(import.meta.dirname, '..', '..', 'demo', 'user-agent.ts');

it('a client signs in at README’s authorization server for README’s protected server, which takes the token', async () => {
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const resource = `http://127.0.0.1:${await freePort()}/mcp`;
  const authorizing = { words: [issuer, resource, '{folder}/login.db'], url: issuer };
  const login = await runPrinted('keyturn/server/authorization', authorizing);
  onTestFinished(() => login.close());
  const notes = await runPrinted('keyturn/server', { words: [resource, issuer], url: resource });
  onTestFinished(() => notes.close());

  const home = newHome({
    env: { KEYTURN_ALLOW_INSECURE_LOOPBACK: '1', KEYTURN_BROWSER: `${process.execPath} ${userAgent}` },
  });
  await home.ok(['allow', 'cli', resource]);
  const token = (await home.ok(['token', resource])).trim();
  const answer = await fetch(resource, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('add-note')]);
  const [grant] = await home.json<{ issuer: string }[]>('list');
  expect(grant).toMatchObject({ issuer });
});
