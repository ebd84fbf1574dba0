/** The consent page, clicked in a real Chromium: once for each way that Keyturn becomes known to a server. And pages that misuse the redirect. */
import { expect, it, onTestFinished } from 'vitest';
import { ground, tokenRequests } from '../../rules/ground.ts';
import { programInBentWorld } from '../../support/bent/home.ts';
import { html } from '../../support/bent/server.ts';
import { openBrowserProfile, type Person } from '../../support/browsers/browser.ts';
import { pageBehind } from '../../support/servers/raw-get.ts';

const clientUrl = 'https://keyturn.example/client.json';

type Options = Parameters<typeof programInBentWorld>[0];

/** With a user at Chromium, who clicks "Allow" unless told otherwise. */
const open = (options: Options = {}, person: Person = {}) =>
  programInBentWorld({
    visit: async (url, ca) => {
      // Its server's certificate has to be trusted before the browser starts.
      const browser = await openBrowserProfile({ ca, origins: [await pageBehind(url)] });
      try {
        await browser.open(url, person);
      } finally {
        await browser.close();
      }
    },
    ...options,
    authorization: { consent: 'page', ...options.authorization },
  });

it.each<[string, Options, number]>([
  ['entered by hand', { authorization: { registration: 'absent' } }, 0],
  [
    'a document',
    {
      authorization: { clientIdMetadataDocuments: true, redirectMatching: 'anyLoopbackPort' },
      env: { KEYTURN_CLIENT_METADATA_URL: clientUrl },
    },
    0,
  ],
  ['registered dynamically', {}, 1],
])('B-37: a click on "Allow" signs in with a client that is %s', async (what, options, registrations) => {
  const { home, program, authorizationServer } = await open(options);
  const { issuer } = authorizationServer;
  if (what === 'entered by hand') {
    const redirectUri = (await home.ok(['oauth-client', 'add', issuer, '--client-id', 'by-hand'])).trim();
    authorizationServer.addClient({ clientId: 'by-hand', redirectUris: [redirectUri] });
  }
  expect((await program.call()).status).toBe(200);
  authorizationServer.expireAccessTokens();
  expect((await program.call()).status).toBe(200);
  expect(authorizationServer.counts).toMatchObject({ registrations, authorizations: 1, refreshes: 1 });
  // The page was shown, and its form was sent by a click.
  const visits = authorizationServer.server.asked('/authorize');
  expect(visits.map(({ method }) => method)).toEqual(['GET', 'POST']);
  const isDocument = what === 'a document';
  expect(visits.every(({ query }) => (query.get('client_id') === clientUrl) === isDocument)).toBe(true);
});

it('B-37: a click on "Deny" is told by the command, and no second page opens', async () => {
  const { program, authorizationServer } = await open({}, { deny: true });
  const { run } = await program.call();
  expect(run).toMatchObject({ code: 5, stdout: '' });
  expect(run.stderr).toContain('reason: access_denied');
  expect((await program.call()).run).toMatchObject({ code: 3, stdout: '' });
  expect(authorizationServer.server.asked('/authorize').map(({ method }) => method)).toEqual(['GET', 'POST']);
  expect(authorizationServer.counts.codesRedeemed).toBe(0);
});

/** Loads it in every way but a tab of its own, and says in its title when it has tried. */
const misuse = (redirect: string): string => `<!doctype html><title>trying</title><body><script>
  const redirect = ${JSON.stringify(redirect)};
  const tries = ['iframe', 'embed'].map((name) => {
    const element = document.createElement(name);
    const ended = new Promise((done) => { element.onload = element.onerror = done; });
    element.src = redirect;
    document.body.append(element);
    return ended;
  });
  tries.push(fetch(redirect, { mode: 'no-cors' }).catch(() => undefined));
  Promise.all(tries).then(() => { document.title = 'tried'; });
</script>`;

it('X-5: a page can’t deliver a redirect with its code by a frame or a script, only in a tab', async () => {
  const { rig, world, authorizationServer } = await ground();
  let redirect = '';
  authorizationServer.bend.authorizeAnswer = (reply) => {
    redirect = String(reply.headers?.['location']);
    return html(misuse(redirect));
  };
  rig.person.isThere = false;
  const asked = rig.ask();
  asked.catch(() => undefined);
  await rig.question('signIn');
  const browser = await openBrowserProfile({ ca: world.ca, origins: [authorizationServer.issuer] });
  onTestFinished(() => browser.close());
  const { page } = browser;
  const refused: string[] = [];
  page.on('response', (response) => {
    if (response.url() === redirect)
      refused.push(`${response.request().resourceType()} ${response.status()}`);
  });
  await page.goto(rig.opened[0] ?? '');
  await expect.poll(() => page.title()).toBe('tried');
  expect(refused).toEqual(expect.arrayContaining(['document 400', 'fetch 400']));
  expect(refused.filter((one) => !one.endsWith(' 400'))).toEqual([]);
  expect(tokenRequests(authorizationServer)).toEqual([]);
  expect((await page.goto(redirect))?.status()).toBe(200);
  expect((await asked).issuer).toBe(authorizationServer.issuer);
});
