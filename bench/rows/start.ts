/** From the start of a broker's process to its first token, with many sign-ins and with one, in the keychain and in a sealed file. */
import { once } from 'node:events';
import process from 'node:process';
import { Home } from '../home.ts';
import { fileHere, started } from '../process.ts';
import { inTurn, isSmoke, type Measurement, type Row } from '../row.ts';
import type { World } from '../world.ts';

const count = isSmoke ? 5 : 1000;

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
  await prepare(world, many, count);
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
  const what = `first token after a start with ${count} sign-ins in ${where}`;
  return { what, unit: 'ms', ...figures, goals: { 'one sign-in': 1.3 } };
}

async function prepare({ lasting, resource }: World, home: Home, signIns: number): Promise<void> {
  await home.prepare([lasting]);
  await home.endBroker();
  await home.copySignIn(Array.from({ length: signIns - 1 }, (_, n) => resource(3600, 0, `s${n}`)));
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
