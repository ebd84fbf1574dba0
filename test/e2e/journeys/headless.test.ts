/** docs/guides/examples/headless.md. A stand-in for systemctl agrees to everything; the test starts the broker as the unit does. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { newSigningKey } from '../../support/bent/jwt.ts';
import { keepSecret } from '../../support/secrets.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { Walk } from './walk.ts';

it('a machine gets a token by its platform’s word, and again after a restart', async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'systemctl'), '#!/bin/sh\n', { mode: 0o755 });
  const PATH = `${folder}:${process.env['PATH']}`;
  const { home, authorizationServer, url } = await homeInBentWorld({
    env: { KEYTURN_VAULT: '', PATH, XDG_CONFIG_HOME: path.join(folder, 'config') },
  });
  const credentials = path.join(folder, 'credentials');
  mkdirSync(credentials, { mode: 0o700 });
  const passphrase = 'hush of the machine’s TPM';
  keepSecret('passphrase', passphrase);
  writeFileSync(path.join(credentials, 'keyturn'), passphrase, { mode: 0o400 });

  const platform = { issuer: 'https://platform.example', key: newSigningKey() };
  authorizationServer.settings.platforms = [{ issuer: platform.issuer, jwk: platform.key.jwk }];
  authorizationServer.addClient({ clientId: 'job', authMethod: 'none', redirectUris: [] });
  const file = path.join(folder, 'login');
  const seconds = Math.floor(Date.now() / 1000);
  const claims = {
    iss: platform.issuer,
    sub: 'build',
    aud: authorizationServer.issuer,
    jti: randomUUID(),
    iat: seconds,
    exp: seconds + 600,
  };
  writeFileSync(file, platform.key.sign({ typ: 'JWT' }, claims));
  const walk = new Walk('headless', home, {
    'https://login.example': authorizationServer.issuer,
    'https://notes.example/mcp': url,
    '/var/run/secrets/tokens/login': file,
  });
  const service = async () => {
    const running = home.start(['broker', 'run'], { env: { CREDENTIALS_DIRECTORY: credentials } });
    await running.says('the broker listens on');
    return running;
  };

  await walk.run();
  await walk.run();
  expect(await home.keyturn(['status'])).toMatchObject({ code: 8 });
  const first = await service();
  expect(await walk.run()).toMatch(/^\S+\n$/);
  expect(authorizationServer.counts).toMatchObject({ jwtBearers: 1, authorizations: 0 });
  first.signal('SIGTERM');
  await first.ended;
  await service();
  expect(await walk.run()).toMatch(/^\S+\n$/);
  expect(authorizationServer.counts).toMatchObject({ jwtBearers: 1, authorizations: 0 });
  expect(await home.json('status')).toMatchObject({ vault: 'sealed-file' });
});
