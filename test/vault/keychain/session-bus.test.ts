/** Which D-Bus session the keychain's worker gets. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SessionBus } from '../../../src/vault/keychain/session-bus.ts';

const handed = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/handed/over', DISPLAY: ':7' };

function runtimeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function withBus(name = 'bus'): Promise<string> {
  const folder = runtimeFolder();
  const server = createServer().listen(path.join(folder, name));
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return folder;
}

const address = (bus: SessionBus): string | undefined => bus.environment()['DBUS_SESSION_BUS_ADDRESS'];

test("is the broker's own, where it has one", async () => {
  const XDG_RUNTIME_DIR = await withBus();
  const bus = new SessionBus({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/own', XDG_RUNTIME_DIR });
  expect(address(bus)).toBe('unix:path=/own');
});

test('is the bus in the runtime folder, also one that comes later', async () => {
  const XDG_RUNTIME_DIR = await withBus();
  const bus = new SessionBus({ XDG_RUNTIME_DIR, HOME: '/somewhere' });
  expect(bus.environment()).toEqual({
    XDG_RUNTIME_DIR,
    HOME: '/somewhere',
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${XDG_RUNTIME_DIR}/bus`,
  });
  const later = new SessionBus({ XDG_RUNTIME_DIR: runtimeFolder() });
  expect(address(later)).toBeUndefined();
});

test('is none where the runtime folder holds a plain file, or a link to a socket', async () => {
  const plain = runtimeFolder();
  writeFileSync(path.join(plain, 'bus'), '');
  expect(address(new SessionBus({ XDG_RUNTIME_DIR: plain }))).toBeUndefined();
  const linked = runtimeFolder();
  symlinkSync(path.join(await withBus('other'), 'other'), path.join(linked, 'bus'));
  expect(address(new SessionBus({ XDG_RUNTIME_DIR: linked }))).toBeUndefined();
});

test("is a caller's once it was handed over, until that is forgotten", () => {
  const bus = new SessionBus({ XDG_RUNTIME_DIR: runtimeFolder(), PATH: '/bin' });
  bus.adopt(handed);
  expect(bus.environment()).toMatchObject({ ...handed, PATH: '/bin' });
  bus.forget();
  expect(address(bus)).toBeUndefined();
});
