/** Where a person must be asked and nobody can, nothing is given: for every kind of question that there is. */
import { createSecretKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Interactions, questionTimeout } from '../../src/broker/questions/interaction.ts';
import type { Question } from '../../src/broker/questions/interaction.ts';
import { signInTimeout } from '../../src/broker/sign-in/page-sign-in.ts';
import { Proxies } from '../../src/broker/records/proxy.ts';
import { Approvals } from '../../src/daemon/approvals/approvals.ts';
import type { AppProcesses } from '../../src/daemon/apps/app-processes.ts';
import type { Home } from '../../src/daemon/home/home.ts';
import { Keys } from '../../src/daemon/vault/keys.ts';
import { askAboutSettings } from '../../src/daemon/settings/settings-card.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { PairingQueue } from '../../src/ipc/server/pairing.ts';
import type { Caller } from '../../src/ipc/server/server.ts';
import type { BentAuthorizationServer } from '../support/bent/authorization-server.ts';
import { looseRecords, type Rig, refusal, turnOfEvents } from '../broker/rig.ts';
import { ground } from '../rules/ground.ts';

type Kind = Question['kind'];

/** Asks for what needs the person, resolves only if it is given; and the milliseconds after which nobody has answered. */
type Case = readonly [
  start: (rig: Rig, server: BentAuthorizationServer) => Promise<unknown>,
  timeout: number,
];

const facts = { verified: false, run: 'r', standing: () => 'same' as const };
const never = new AbortController().signal;
const hour = 3_600_000;

/** One row a kind: the compiler asks for each. */
const cases: Readonly<Record<Kind, Case>> = {
  allow: [(rig) => rig.ask({ appId: 'reader', timeout: hour }), questionTimeout],
  pair: [(rig) => pairing(rig), 120_000],
  signIn: [(rig) => rig.login({ timeout: hour }), signInTimeout],
  device: [(rig) => rig.login({ method: 'device', timeout: signInTimeout }), signInTimeout],
  account: [(rig, server) => anotherAccount(rig, server), questionTimeout],
  settings: [(rig) => settings(rig), questionTimeout],
  url: [(rig) => shownUrl(rig), questionTimeout],
  choice: [choice, questionTimeout],
  command: [(rig) => command(rig), questionTimeout],
};

/** Alice is signed in, and bob comes back from the page. */
async function anotherAccount(rig: Rig, server: BentAuthorizationServer): Promise<unknown> {
  const scope = ['openid', 'read'];
  rig.person.isThere = true;
  await rig.login({ scope });
  server.settings.subject = 'bob';
  return rig.login({ scope, timeout: hour });
}

function pairing({ parts, clock }: Rig): Promise<unknown> {
  const home = { homeId: 'A'.repeat(22) } as Home;
  const keys = new Keys({ ...parts, home, root: async () => createSecretKey(Buffer.alloc(32, 7)) });
  const desk = new PairingQueue({
    pair: (request) => keys.pair(request),
    now: () => clock.now(),
    after: (milliseconds, work) => {
      const off = new AbortController();
      clock.sleep(milliseconds, off.signal).then(work, () => undefined);
      return () => off.abort();
    },
  });
  const peer = { kind: 'unverified' } as const;
  return desk.ask({ name: 'reader', peer, peerNow: () => peer, isOpen: () => true }, never, () => undefined);
}

async function settings({ parts }: Rig): Promise<void> {
  const verdict = await askAboutSettings(
    parts,
    { different: [{ name: 'httpsProxy', value: 'http://proxy.example' }], allowed: [] },
    never,
  );
  if (verdict !== 'yes') throw new KeyturnError('consent_pending', verdict);
}

async function shownUrl({ allow, broker, endpoint: resource }: Rig): Promise<void> {
  await allow('another');
  const url = 'https://pay.example/';
  const shown = { appId: 'another', resource, url, message: '', signal: never };
  const action = await broker.showUrl(shown);
  if (action !== 'accept') throw new KeyturnError('consent_pending', action);
}

/** Another program may use alice and carol, and names neither. */
async function choice(rig: Rig, server: BentAuthorizationServer): Promise<unknown> {
  const scope = ['openid', 'read'];
  rig.person.isThere = true;
  const alice = await rig.login({ scope, account: 'alice' });
  server.settings.subject = 'carol';
  const carol = await rig.login({ scope, account: 'carol' });
  rig.person.isThere = false;
  const allowed = { appId: 'another', endpoint: rig.endpoint, decision: 'allow', createdAt: 0 } as const;
  await rig.broker.consent.decide({ ...allowed, signInIds: [alice.id, carol.id] });
  return rig.ask({ appId: 'another', timeout: hour });
}

function command({ broker }: Rig): Promise<unknown> {
  const approvals = new Approvals({
    broker,
    proxies: new Proxies(looseRecords()),
    forwards: { refuse: () => undefined },
    // Who asks is told by the socket, and there is none here.
    processes: { of: () => ({ run: 'r', look: () => facts }) } as unknown as AppProcesses,
    checkSetting: () => ({ name: 'logLevel', value: 'debug' }),
  });
  return approvals.require({ signal: never } as Caller, 'settings.set', { name: 'logLevel', value: 'debug' });
}

const kinds = Object.keys(cases) as Kind[];

/** What a yes would have given. */
function given({ parts, opened }: Rig): object {
  const { permissions, signIns, apps, interactions, leases } = parts;
  return {
    permissions: permissions.of('reader', 0),
    leases: leases.of('reader', 0),
    signIns: signIns.all().filter(({ account }) => !['alice', 'carol'].includes(account)),
    apps: apps.all().filter(({ name }) => name === 'reader'),
    open: interactions.list(),
    pages: opened.filter((address) => address.startsWith('https://pay.example')),
  };
}

const nothing = { permissions: [], leases: [], signInIds: [], apps: [], open: [], pages: [] };

async function asked(kind: Kind) {
  const { rig, authorizationServer } = await ground({ authorization: { deviceAuthorization: true } });
  rig.person.isThere = false;
  const outcome = refusal(cases[kind][0](rig, authorizationServer));
  await rig.question(kind);
  return { rig, outcome };
}

/** In how many steps the time passes. A device asks its server once in each: more would prove no more. */
const steps = 10;

describe('a question that nobody can answer', () => {
  it.each(kinds)('of the kind %s is refused when its time is over', async (kind) => {
    const { rig, outcome } = await asked(kind);
    for (let step = 0; step < steps; step += 1) {
      rig.clock.advance(cases[kind][1] / steps);
      await turnOfEvents();
    }
    expect(await outcome).toBeInstanceOf(KeyturnError);
    expect(given(rig)).toEqual(nothing);
  });

  it('is refused, and does not stay open, if no window can be told', async () => {
    const told = (): never => {
      throw new Error('the desktop’s service is missing');
    };
    const interactions = new Interactions(() => 0, told);
    const question = { kind: 'pair', appName: 'reader', code: '123456' } as const;
    expect(await refusal(interactions.ask(question, never))).toBeInstanceOf(Error);
    expect(interactions.list()).toEqual([]);
  });
});
