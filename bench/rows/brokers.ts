/** A broker's memory and start. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { idlePeriod } from '../../src/daemon/system/idle-collection.ts';
import { Home } from '../home.ts';
import { ended, fileHere, floorFile, memoryOf, started } from '../process.ts';
import { inTurn, isSmoke, type Measurement, type Row } from '../row.ts';
import type { World } from '../world.ts';

/** Milliseconds after which a start's leftovers are swept up or stay. */
const rest = isSmoke ? 100 : 2000;

const [signIns, tokens, atOnce] = isSmoke ? [5, 1, 2] : [1000, 100, 64];

/** Resident memory of a broker that has nothing to do, and of one with much behind it, beside a bare Node listener. */
export const memory: Measurement = {
  name: 'memory',
  async measure(world) {
    const opened = await world();
    const bare = async (): Promise<number> => {
      const socket = path.join(opened.home.folder, `${randomUUID()}.sock`);
      const { child } = await started(process.execPath, [floorFile, socket, '1500'], process.env);
      await sleep(rest);
      const megabytes = memoryOf(child.pid, 'resident');
      await ended(child);
      return megabytes;
    };
    const idle = async (): Promise<number> => {
      await using home = new Home('');
      await home.startBroker();
      await sleep(rest);
      return memoryOf(home.pid, 'resident');
    };
    const atRest = await inTurn(5, { ours: idle, 'bare Node': bare });
    await using home = new Home(opened.ca, 'sealed-file');
    await use(home, opened);
    const used = await inTurn(1, { ours: async () => memoryOf(home.pid, 'resident'), 'bare Node': bare });
    const after = `memory of a broker with ${signIns} sign-ins after ${signIns * tokens} tokens`;
    return [
      { what: 'memory of an idle broker', unit: 'MB', ...atRest, goals: { 'bare Node': 1.4 } },
      { what: after, unit: 'MB', ...used, goals: { 'bare Node': 1.8 } },
    ];
  },
};

/** Resolves when the broker is idle again. */
async function use(home: Home, world: World): Promise<void> {
  const resources = Array.from({ length: signIns }, (_, n) => world.resource(3600, 0, `s${n}`));
  await prepare(world, home, signIns + 1);
  await home.startBroker();
  await home.allow(resources);
  const left = Array.from({ length: tokens }, () => resources).flat();
  const ask = async (): Promise<void> => {
    const connection = await home.connection();
    for (let next = left.pop(); next !== undefined; next = left.pop())
      await connection.getToken({ resource: next });
    connection.close();
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  // The broker collects when it finds itself idle: the first look may find the last of the work.
  await sleep(isSmoke ? 0 : 2 * idlePeriod + rest);
}

/** From the start of a broker's process to its first token, with many sign-ins and with one, in the keychain and in a sealed file. */
export const start: Measurement = {
  name: 'start',
  async measure(world) {
    const opened = await world();
    await using keyring = await openKeyring();
    await using another = await openKeyring();
    return [
      await row(opened, 'a sealed file', [
        new Home(opened.ca, 'sealed-file'),
        new Home(opened.ca, 'sealed-file'),
      ]),
      await row(opened, 'the keychain', [
        new Home(opened.ca, 'keychain', keyring.env),
        new Home(opened.ca, 'keychain', another.env),
      ]),
    ];
  },
};

async function row(world: World, where: string, homes: readonly [Home, Home]): Promise<Row> {
  await using many = homes[0];
  await using one = homes[1];
  await prepare(world, many, signIns);
  await prepare(world, one, 1);
  const first = (home: Home) => async (): Promise<number> => {
    const from = performance.now();
    await home.startBroker();
    const connection = await home.connection();
    await connection.getToken({ resource: world.lasting });
    const time = performance.now() - from;
    connection.close();
    await home.endBroker();
    return time;
  };
  const figures = await inTurn(7, { ours: first(many), 'one sign-in': first(one) });
  const what = `first token after a start with ${signIns} sign-ins in ${where}`;
  return { what, unit: 'ms', ...figures, goals: { 'one sign-in': 1.3 } };
}

async function prepare({ lasting, resource }: World, home: Home, held: number): Promise<void> {
  await home.prepare([lasting]);
  await home.endBroker();
  await home.copySignIn(Array.from({ length: held - 1 }, (_, n) => resource(3600, 0, `s${n}`)));
}

/** A throw-away one; one for each home, since a keyring gets slower with its items. */
async function openKeyring() {
  const script = fileHere('../scripts/with-keyring.sh');
  // Ends with its input.
  const { child, line } = await started('sh', [script, 'sh', '-c', 'env; exec cat'], process.env);
  const env = Object.fromEntries(
    [...line.matchAll(/^(DBUS_SESSION_BUS_ADDRESS|XDG_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  ) as Record<string, string>;
  const end = async (): Promise<void> => {
    const gone = once(child, 'close');
    child.stdin?.end();
    await gone;
  };
  return { env, [Symbol.asyncDispose]: end };
}
