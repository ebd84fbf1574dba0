/** An administrator's policy, at its place in the system: a mount namespace gives each command an /etc of its own. */
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, deny, signIn, startBroker, stopBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import type { PolicyCase } from '../../support/processes/policy-reader.ts';
import { pairedProgram, library } from '../../support/processes/program.ts';
import { freeRedirect } from '../../support/servers/port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { homeInWorld } from '../../support/home.ts';

const policyReader = path.join(import.meta.dirname, '..', '..', 'support', 'processes', 'policy-reader.ts');

/** $0 is the policy, where there is one; the words are the command. */
const ownEtc = [
  'mount -t tmpfs -o mode=755 tmpfs /mnt',
  'cp -a /etc/. /mnt/ 2>/dev/null',
  'rm -rf /mnt/keyturn && mkdir -m 755 /mnt/keyturn',
  'if [ -e "$0" ] || [ -L "$0" ]; then cp -a "$0" /mnt/keyturn/policy.json; fi',
  'if [ -e "$0.everybody" ]; then chmod 777 /mnt/keyturn; fi',
  'mount --bind /mnt /etc',
  'exec "$@"',
].join('\n');

/** A policy that a test writes, in a folder that everybody can write where it says so, and the words before each command that see it. */
function administered() {
  const file = path.join(temporaryFolder(), 'policy.json');
  const asRoot = userInfo().uid === 0 ? [] : ['--map-root-user'];
  return {
    launcher: ['unshare', ...asRoot, '--mount', 'sh', '-c', ownEtc, file],
    file,
    openFolder: () => writeFileSync(`${file}.everybody`, ''),
    set: (content: object | string, mode = 0o644) => {
      rmSync(file, { force: true });
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
      chmodSync(file, mode);
    },
  };
}

it('a policy takes away servers, issuers, programs and features, also what was allowed before, and narrowing goes on', async () => {
  const { launcher, set } = administered();
  const { home, world, resource } = await homeInWorld({ vault: 'keychain', launcher });
  /** A new broker, which reads this policy. */
  const under = async (policy: object): Promise<void> => {
    await stopBroker(home);
    set(policy);
    await startBroker(home);
  };
  const refusedBy = async (words: readonly string[], text: string): Promise<void> => {
    const run = await home.keyturn(words);
    expect(run, words.join(' ')).toMatchObject({ code: 4, stderr: expect.stringContaining(text) });
    expect(run.stderr).toContain('policy_refused');
  };
  /** The same over the socket. */
  const refusedAtOnce = async (asked: Promise<unknown>, text: string): Promise<void> => {
    await expect(asked).rejects.toMatchObject({
      reason: 'policy_refused',
      message: expect.stringContaining(text),
    });
  };
  await startBroker(home);
  await allow(home, 'cli', resource);
  await signIn(home, resource);
  const agent = await pairedProgram(home, 'agent');
  await allow(home, 'agent', resource);
  await agent.getToken({ resource, interaction: 'allow' });
  expect(await home.ok(['status'])).not.toContain('\npolicy');
  await askBroker(home, 'override.set', { server: resource, name: 'audience', on: true });

  await under({
    resources: ['https://*.corp.example'],
    off: ['proxies', 'forwards', 'apiKeys', 'overrides'],
  });
  const status = await home.ok(['status']);
  expect(status).toContain(
    'policy     /etc/keyturn/policy.json\n           servers: https://*.corp.example\n',
  );
  expect(status).toContain('audience (switched off by your administrator)');
  expect(await home.ok(['list'])).toContain('switched off by your administrator');
  expect(await home.ok(['explain', resource])).toContain(
    'not refreshed, and no program gets its tokens (policy_refused)',
  );
  await refusedBy(
    ['override', 'https://a.corp.example', 'audience', 'on'],
    'switches off: overrides of audience',
  );
  await home.ok(['override', resource, 'audience', 'off']);
  const notAServer = 'is not among the servers that it allows';
  await refusedBy(['token', resource], notAServer);
  await refusedAtOnce(signIn(home, resource), notAServer);
  await refusedAtOnce(allow(home, 'agent', resource), notAServer);
  await expect(agent.getToken({ resource })).rejects.toMatchObject({ reason: 'policy_refused' });
  await refusedAtOnce(
    askBroker(home, 'proxy.add', { resource: 'https://a.corp.example/mcp' }),
    'it switches off: proxies',
  );
  await refusedBy(
    ['forward', '--socket', path.join(temporaryFolder(), 'x.sock'), 'https://a.corp.example/mcp'],
    'switches off: forwards',
  );
  await deny(home, 'agent', resource);
  await askBroker(home, 'permission.end', { client: 'agent', resource });

  await under({ issuers: ['https://login.corp.example'] });
  await refusedAtOnce(tokenAt(home, resource), 'is not among the authorization servers that it allows');
  const { registrations } = world.counts().authorizationServer;
  await refusedAtOnce(
    signIn(home, resource, { newClient: true }),
    'is not among the authorization servers that it allows',
  );
  expect(world.counts().authorizationServer.registrations).toBe(registrations);

  await under({ programs: ['cli'] });
  await tokenAt(home, resource);
  await expect(agent.getToken({ resource })).rejects.toMatchObject({ reason: 'policy_refused' });
  const { pair } = await library();
  await expect(pair({ name: 'other', env: home.env, onCode: () => undefined })).rejects.toMatchObject({
    reason: 'policy_refused',
  });

  await under({ programs: [process.execPath] });
  await expect(agent.getToken({ resource })).rejects.toMatchObject({ reason: 'consent_required' });
  await refusedAtOnce(tokenAt(home, resource), '"cli", the command line, is not among the programs');
  expect(await home.ok(['revoke', resource])).toContain(resource);
});

it('a policy that is not understood, or that others can change, is refused with what is wrong', () => {
  const usual = 0o644;
  const cases: readonly (readonly [PolicyCase, string])[] = [
    [{ content: '{', mode: usual }, 'it is no JSON'],
    [{ content: '{"issuer": ["https://login.example"]}', mode: usual }, 'Unrecognized key'],
    [{ content: `{"off": ${'['.repeat(100_000)}`, mode: usual }, 'it is no JSON'],
    [{ content: `{"off": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`, mode: usual }, 'off.0'],
    [{ content: '{"__proto__": {"issuers": []}}', mode: usual }, 'Unrecognized key'],
    [{ content: '{"off": ["forwards"], "off": []}', mode: usual }, '"off" is there twice'],
    [{ content: ' '.repeat(1_000_001), mode: usual }, 'it is no file of a usual size'],
    [{ content: '{}', mode: 0o664 }, 'others than root can change it'],
    [{ content: '{}', mode: 0o666 }, 'others than root can change it'],
    [{ pipe: true }, 'it is no file of a usual size'],
    [{ link: '/dev/null' }, 'it can’t be read'],
  ];
  const { launcher } = administered();
  const [command, ...words] = [...launcher, process.execPath, policyReader];
  const input = [...cases.map(([found]) => found), { content: '{}', mode: usual }].map((found) =>
    JSON.stringify(found),
  );
  const refusals = JSON.parse(
    execFileSync(command, words, { input: input.join('\n') }).toString(),
  ) as string[];
  expect(refusals).toEqual([
    ...cases.map(([, text]) => expect.stringMatching(new RegExp(`policy can’t be used: .*${text}`))),
    '',
  ]);
});

it('a policy that can’t be used keeps the broker from starting, also where others could take it away', async () => {
  const { launcher, set, file, openFolder } = administered();
  const { home } = await homeInWorld({ launcher });
  const refuses = async (text: string, command = 'daemon', code = 7): Promise<void> => {
    expect(await home.keyturn([command])).toMatchObject({
      code,
      stderr: expect.stringMatching(new RegExp(`policy can’t be used: .*${text}`)),
    });
  };
  set('{');
  await refuses('it is no JSON');
  set({});
  await home.ok(['list']);
  await stopBroker(home);
  openFolder();
  // A command that finds no broker and can start none says the same.
  await refuses('others than root can change it', 'list', 8);
  // Whoever can write the folder can take the file away.
  rmSync(file);
  await refuses('others than root can change it');
});

it('a policy’s client is used at its issuer, where none is registered, and a permission ends when the policy says', async () => {
  const { launcher, set } = administered();
  const { home, authorizationServer, url } = await homeInBentWorld({ launcher });
  const redirectUri = await freeRedirect();
  const { clientId } = authorizationServer.addClient({ authMethod: 'none', redirectUris: [redirectUri] });
  const { issuer } = authorizationServer;
  set({ clients: [{ issuer, clientId, redirectUri }], lifetimes: { permission: 3600 } });
  await home.ok(['login', url]);
  expect(authorizationServer.server.asked('/register')).toEqual([]);
  const [request] = authorizationServer.server.asked('/token');
  expect(new URLSearchParams(request?.body).get('client_id')).toBe(clientId);

  await home.ok(['allow', 'cli', url, '--for', '2d']);
  await tokenAt(home, url);
  const { clients } = await askBroker(home, 'client.list', {});
  const [cli] = clients;
  const left = (cli?.permissions[0]?.until ?? 0) - Date.now() / 1000;
  expect(left).toBeGreaterThan(3000);
  expect(left).toBeLessThanOrEqual(3600);
});
