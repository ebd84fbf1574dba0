/** When a command hands over its desktop session, and what of it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../../../src/base/system/display.ts';
import { desktopSession, offeringSession } from '../../../src/cli/broker/desktop-session.ts';
import type { Connection } from '../../../src/client/connection.ts';
import { KeyturnError } from '../../../src/base/errors.ts';

const DBUS_SESSION_BUS_ADDRESS = 'unix:path=/run/user/1000/bus';

describe('the session', () => {
  it('is five variables and nothing else', () => {
    const env = { DBUS_SESSION_BUS_ADDRESS, DISPLAY: ':0', XAUTHORITY: '', AWS_SECRET_ACCESS_KEY: 'secret' };
    expect(desktopSession(env)).toEqual({ DBUS_SESSION_BUS_ADDRESS, DISPLAY: ':0' });
  });

  it.each([undefined, '', 'tcp:host=127.0.0.1,port=4', 'autolaunch:'])(
    'is none with the address %s',
    (bus) => {
      expect(desktopSession({ DBUS_SESSION_BUS_ADDRESS: bus, DISPLAY: ':0' })).toBeUndefined();
    },
  );
});

/** A broker without a keychain, whose vault stands as told; `asked`: what reached it. */
function brokerSaying(state: string, accepts: boolean): { connection: Connection; asked: string[] } {
  const asked: string[] = [];
  let fixed = false;
  const unavailable = new KeyturnError('vault_unavailable', 'the keychain can not be used');
  const never = (): never => {
    throw new Error('not asked here');
  };
  const connection: Connection = {
    capabilities: [],
    isOpen: true,
    request: async (method) => {
      asked.push(method);
      if (method === 'status') return { vaultState: { state } };
      if (method === 'vault.unlock' && accepts) fixed = true;
      if (!fixed) throw unavailable;
      return {};
    },
    getToken: never,
    getCredential: never,
    proveToken: never,
    rejectToken: never,
    onNotification: never,
    close: () => undefined,
  };
  return { connection, asked };
}

describe('a broker without a keychain', () => {
  const env = { DBUS_SESSION_BUS_ADDRESS };

  it('is given the session and asked once more', async () => {
    const { connection, asked } = brokerSaying('absent', true);
    await offeringSession(connection, env).request('signIn.start');
    expect(asked).toEqual(['signIn.start', 'status', 'vault.unlock', 'signIn.start']);
  });

  it('is not asked again where the session did not help', async () => {
    const { connection, asked } = brokerSaying('absent', false);
    const asking = offeringSession(connection, env).request('signIn.start');
    await expect(asking).rejects.toMatchObject({ reason: 'vault_unavailable' });
    expect(asked).toEqual(['signIn.start', 'status', 'vault.unlock']);
  });

  it.each(['locked', 'crashed', 'full', 'open'])('is given none where its vault is %s', async (state) => {
    const { connection, asked } = brokerSaying(state, true);
    const asking = offeringSession(connection, env).request('resume');
    await expect(asking).rejects.toMatchObject({ reason: 'vault_unavailable' });
    expect(asked).toEqual(['resume', 'status']);
  });

  it('is given none by a command outside of a desktop session', async () => {
    const { connection, asked } = brokerSaying('absent', true);
    await expect(offeringSession(connection, {}).request('signIn.start')).rejects.toThrow();
    expect(asked).toEqual(['signIn.start']);
  });
});

it.runIf(process.platform === 'linux')(
  'WSL opens a page where it has a display, or a command for the browser of Windows',
  () => {
    const [wsl, PATH] = [{ WSL_DISTRO_NAME: 'Debian' }, temporaryFolder()];
    expect([
      hasBrowser({ ...wsl, PATH }),
      hasBrowser({ ...wsl, PATH, WAYLAND_DISPLAY: 'wayland-0' }),
    ]).toEqual([false, true]);
    writeFileSync(path.join(PATH, 'wslview'), '');
    expect(hasBrowser({ ...wsl, PATH })).toBe(true);
  },
);
