/**
 * Browsers for tests whose subject is not the browser: a process of Node's for each sign-in costs more than the command
 * that waits for it.
 *
 * Invariants: the command that a broker opens is one small program, and gets the address as a browser does. A sign-in may be
 * over before a command has shown its address: a test about what is shown meanwhile takes another browser.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { openWorld, type TestWorld } from '../world.ts';
import { type HomeOptions, newHome, type TestHome } from '../home.ts';
import type { WorldOptions } from '../world/servers.ts';

/** curl(1): no settings of anybody's, no proxy, and brackets in an address are just that. */
const curl = ['curl', '-q', '-s', '-g', '--noproxy', '*'];

/** Follows redirects and clicks nothing. */
export function followRedirects(caFile: string): string {
  return ['env', `KEYTURN_DEMO_CA=${caFile}`, ...curl, '-L', '--cacert', caFile, '-o', '/dev/null'].join(' ');
}

export interface Person {
  /** For KEYTURN_BROWSER. */
  readonly command: string;
  close(): Promise<void>;
}

/** Somebody in the test's own process who visits each address that the command gets. Nobody hears how a visit ended. */
export async function openPerson(visit: (url: string) => Promise<unknown>): Promise<Person> {
  const meet = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = await text(request);
    response.writeHead(204).end();
    await visit(url);
  };
  const server = createServer((request, response) => {
    meet(request, response).catch(() => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    command: [...curl, `http://127.0.0.1:${port}/`, '--data-raw'].join(' '),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A home whose person signs in as alice in the test's own process. */
export async function personsHome(
  options: Omit<HomeOptions, 'world' | 'browser' | 'person'> & { readonly issuing?: WorldOptions } = {},
): Promise<{ home: TestHome; world: TestWorld; resource: string }> {
  const world = await openWorld(options.issuing);
  onTestFinished(() => world.close());
  const person = await openPerson((url) => world.signIn(url));
  onTestFinished(() => person.close());
  return {
    home: newHome({ ...options, world, browser: person.command }),
    world,
    resource: world.protectedServer.resource,
  };
}
