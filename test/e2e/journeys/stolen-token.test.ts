/** docs/guides/examples/stolen-token.md: what a token that is bound to a DPoP key is worth to a thief who has everything that was sent. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { codeBlocks, root } from '../../docs/pages.ts';
import { newHome } from '../../support/home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { Walk } from './walk.ts';

it('a stolen token that is bound to a DPoP key is refused in every form', async () => {
  const folder = temporaryFolder();
  const place = newHome();
  const walk = new Walk('stolen-token', place, {
    ' headers': ` ${path.join(folder, 'headers')}`,
    ' nonce': ` ${path.join(folder, 'nonce')}`,
  });
  const [configuration = ''] = codeBlocks(walk.page, 'json');
  const { protectedServer } = JSON.parse(configuration) as { protectedServer: object };
  const file = path.join(folder, 'serve.json');
  writeFileSync(
    file,
    JSON.stringify({ authorizationServer: { port: 0 }, protectedServer: { ...protectedServer, port: 0 } }),
  );
  onTestFinished(() => rmSync(file));
  const serving = walk.start({ 'serve.json': `${file} --json` });
  const { resource, authorities } = JSON.parse(await serving.prints('}\n')) as {
    resource: string;
    authorities: string;
  };

  const agent = `${process.execPath} ${path.join(root, 'demo', 'user-agent.ts')}`;
  const home = newHome({ env: { NODE_EXTRA_CA_CERTS: authorities, KEYTURN_BROWSER: agent } });
  const names = { 'path/to/authority.pem': authorities, 'https://127.0.0.1:4712/mcp': resource };
  await walk.run({ ...names, '$(mktemp -d)': home.env['KEYTURN_HOME'] ?? '' }, home);
  expect(await walk.run(names, home)).toBe('200\n401\n401\n401\n');
  serving.signal('SIGTERM');
  await serving.ended;
});
