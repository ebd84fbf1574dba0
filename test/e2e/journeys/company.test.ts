/** docs/guides/examples/company.md: one sign-in at an identity provider opens two servers with authorization servers of their own. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { keepSecret } from '../../support/secrets.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { Walk } from './walk.ts';

it('one company sign-in opens two servers, and its end closes both', async () => {
  const { home, world, authorizationServer: notes, url } = await homeInBentWorld();
  const provider = await world.openAuthorizationServer({
    issuerPath: '/company',
    subject: 'alice',
    resourceRequired: false,
  });
  const tickets = await world.openAuthorizationServer();
  const other = await world.openProtectedServer({ authorizationServers: [tickets] });
  const folder = temporaryFolder();
  for (const [name, issuer] of [
    ['notes', notes],
    ['tickets', tickets],
  ] as const) {
    const secret = `of-the-desk-at-${name}-0123456789`;
    keepSecret('client secret', secret);
    writeFileSync(path.join(folder, `${name}-secret`), secret);
    issuer.settings.identityProviders = [provider];
    issuer.addClient({ clientId: 'desk', authMethod: 'client_secret_basic', secret, redirectUris: [] });
  }
  const walk = new Walk('company', home, {
    'https://idp.example': provider.issuer,
    'https://login.example': notes.issuer,
    'https://signin.example': tickets.issuer,
    'https://notes.example/mcp': url,
    'https://tickets.example/mcp': other.url,
    'notes-secret': path.join(folder, 'notes-secret'),
    'tickets-secret': path.join(folder, 'tickets-secret'),
  });

  const redirectUris = [(await walk.run()).trim()];
  provider.addClient({ clientId: 'desk-there', authMethod: 'none', redirectUris, clientIdElsewhere: 'desk' });
  await walk.run();
  await walk.run();
  for (const issuer of [notes, tickets]) {
    expect(await walk.run()).toMatch(/^\S+\n$/);
    expect(issuer.counts).toMatchObject({ jwtBearers: 1, authorizations: 0 });
  }
  expect(provider.counts).toMatchObject({ authorizations: 1, tokenExchanges: 2 });

  await walk.run();
  for (const resource of [url, other.url])
    expect(await home.keyturn(['token', resource, '--no-input'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`keyturn login ${provider.issuer}`),
    });
});
