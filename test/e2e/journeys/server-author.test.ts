/** docs/guides/examples/server-author.md: docs/servers' two servers as they are printed, and a client that signs in and steps up at them. */
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runPrinted } from '../../docs/printed-program.ts';
import { newHome } from '../../support/home.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';
import { freePort } from '../../support/servers/port.ts';
import { Walk } from './walk.ts';

const userAgent = path.join(import.meta.dirname, '..', '..', '..', 'demo', 'user-agent.ts');

it('a client signs in through the bridge and steps up at the printed servers', async () => {
  const home = newHome({ vault: 'keychain', env: { KEYTURN_BROWSER: `${process.execPath} ${userAgent}` } });
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const resource = `http://127.0.0.1:${await freePort()}/mcp`;
  const walk = new Walk('server-author', home, {
    'http://127.0.0.1:4711': issuer,
    'http://127.0.0.1:8080/mcp': resource,
  });
  const login = await runPrinted('@keyturn/server/authorization', {
    words: walk.words('login.mts'),
    url: issuer,
  });
  onTestFinished(() => login.close());
  const notes = await runPrinted('@keyturn/server', { words: walk.words('notes.mts'), url: resource });
  onTestFinished(() => notes.close());

  await walk.run();
  const connecting = walk.inTerminal();
  await connecting.shows(/may "my-client" be paired, and reach [^]*\[y\/N\] /);
  connecting.type('y\n');
  await connecting.ended;
  const { client } = await clientOf(home, resource, '--as', 'my-client');
  expect(await client.listTools()).toMatchObject({ tools: [{ name: 'add-note' }] });
  expect(await home.json('sign-in', 'list')).toMatchObject([{ scope: 'notes:read' }]);

  const adding = client.callTool({ name: 'add-note' });
  expect(await walk.answer('allow')).toMatchObject({ app: 'my-client' });
  expect(await adding).toMatchObject({ content: [{ text: 'added for alice' }] });
  expect(await home.json('sign-in', 'list')).toMatchObject([{ scope: 'notes:read notes:write' }]);
});
