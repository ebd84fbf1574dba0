/** `@keyturn/client` as other programs import it: the built library against the built broker. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { useNotebook, verdictOn } from '../../support/servers/notebook.ts';
import { library, paired } from '../../support/processes/program.ts';

const { connect, createFetch } = await library();

/** For the tests that count nothing at the servers. Each has programs of its own. */
const there = commonHome();

describe('a program that pairs', () => {
  it('gets tokens within its permission, renews a refused one, and steps up', async () => {
    const { home, world, resource } = await homeInWorld();
    await owner.startBroker(home);
    await paired(home, 'notes-app');
    const keyFile = path.join(home.paths.config, 'apps', 'notes-app.key');
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(await home.ok(['app', 'list'])).toMatch(/\nnotes-app /);

    const connection = await connect({ name: 'notes-app', env: home.env });
    await expect(connection.getToken({ resource, interaction: 'never' })).rejects.toMatchObject({
      reason: 'consent_required',
    });
    await owner.allow(home, 'notes-app', resource);
    const token = await connection.getToken({ resource, interaction: 'allow' });
    expect((await verdictOn(world, token.access_token)).status).toBe(200);

    const fetch = createFetch(connection, { resource, fetch: world.fetch, interaction: 'allow' });
    expect(await useNotebook(world, { fetch })).toContain('alice');
    const { unauthorized } = world.counts().protectedServer;
    world.expireAccessTokens();
    expect(await useNotebook(world, { fetch })).toContain('alice');
    // The program's, and the broker's own: after a refused token it asks who the issuer is now.
    expect(world.counts().protectedServer.unauthorized).toBe(unauthorized + 2);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1 });

    expect(await useNotebook(world, { fetch }, 'add-note')).toContain('milk');
    expect(world.counts().protectedServer.insufficientScope).toBe(1);
    expect(world.counts().authorizationServer).toMatchObject({ registrations: 1, codesRedeemed: 2 });
    connection.close();
  });

  it('apps/NAME.key: loses connections and key file when it is removed', async () => {
    const { home, resource } = there;
    await paired(home, 'former');
    await owner.allow(home, 'former', resource);
    const connection = await connect({ name: 'former', env: home.env });
    await connection.getToken({ resource, interaction: 'allow' });
    await askBroker(home, 'app.remove', { app: 'former' });
    await until('the connection ends', () => !connection.isOpen);
    await expect(connection.getToken({ resource })).rejects.toMatchObject({ reason: 'unpaired' });
    await expect(connect({ name: 'former', env: home.env })).rejects.toMatchObject({ reason: 'unpaired' });
    expect(existsSync(path.join(home.paths.config, 'apps', 'former.key'))).toBe(false);
    await paired(home, 'former');
    (await connect({ name: 'former', env: home.env })).close();
  });
});
