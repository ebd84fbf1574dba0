/** Which D-Bus session the keychain's worker gets. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SessionBus } from '../../../src/vault/keychain/session-bus.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function withBus(name = 'bus'): Promise<string> {
  const folder = temporaryFolder();
  const server = createServer().listen(path.join(folder, name));
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return folder;
}

const address = (bus: SessionBus): string | undefined => bus.environment()['DBUS_SESSION_BUS_ADDRESS'];

test("the session bus is the broker's own if it has one", async () => {
  const XDG_RUNTIME_DIR = await withBus();
  const bus = new SessionBus({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/own', XDG_RUNTIME_DIR });
  expect(address(bus)).toBe('unix:path=/own');
});

test('the session bus is the one in the runtime folder, even if it appears later', async () => {
  const XDG_RUNTIME_DIR = await withBus();
  const bus = new SessionBus({ XDG_RUNTIME_DIR, HOME: '/somewhere' });
  expect(bus.environment()).toEqual({
    XDG_RUNTIME_DIR,
    HOME: '/somewhere',
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${XDG_RUNTIME_DIR}/bus`,
  });
  const later = new SessionBus({ XDG_RUNTIME_DIR: temporaryFolder() });
  expect(address(later)).toBeUndefined();
});

test('is missing if the runtime folder holds a plain file or a link', async () => {
  const plain = temporaryFolder();
  writeFileSync(path.join(plain, 'bus'), '');
  expect(address(new SessionBus({ XDG_RUNTIME_DIR: plain }))).toBeUndefined();
  const linked = temporaryFolder();
  symlinkSync(path.join(await withBus('other'), 'other'), path.join(linked, 'bus'));
  expect(address(new SessionBus({ XDG_RUNTIME_DIR: linked }))).toBeUndefined();
});
