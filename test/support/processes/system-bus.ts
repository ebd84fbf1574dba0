/**
 * A system's bus for one test: a real dbus-daemon, with the rule of the real one that nobody may watch all messages. No
 * logind runs here, so a double of it says on the bus what logind would say.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../temporary-folder.ts';
import { busDaemon } from './bus-daemon.ts';
import { BusPeer } from './bus-peer.ts';
import { ofTest } from '../lasting.ts';

const policy = (socket: string): string => `<busconfig>
  <type>system</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Monitoring"/>
  </policy>
</busconfig>`;

/** Ends with the test. */
export async function systemBus() {
  const folder = temporaryFolder();
  const socket = path.join(folder, 'bus');
  const config = path.join(folder, 'bus.conf');
  writeFileSync(config, policy(socket));
  const { address, end } = await busDaemon(`--config-file=${config}`);
  return { env: { DBUS_SYSTEM_BUS_ADDRESS: address }, socket, end };
}

export type SystemBus = Awaited<ReturnType<typeof systemBus>>;

const manager = '/org/freedesktop/login1';
const login = 'org.freedesktop.login1';

/** What a double of logind says. A session is named by the last part of its path. */
export interface Logind {
  lock(session: string): void;
  changed(session: string, properties: Readonly<Record<string, boolean>>, unsaid?: readonly string[]): void;
  prepareForSleep(isBefore: boolean): void;
  close(): void;
}

/** `own`: the asking program's session; none if it doesn't know one. `name`: as whom it speaks. */
export async function fakeLogind(
  { socket }: SystemBus,
  own: string | undefined,
  name: string | undefined = login,
): Promise<Logind> {
  const sessionPath = (session: string): string => `${manager}/session/${session}`;
  const peer = await ofTest(
    BusPeer.connect(socket, name, ({ member, argument }) =>
      member === 'GetSession' && argument === 'auto' && own !== undefined ? ['o', sessionPath(own)] : [],
    ),
  );
  return {
    lock: (session) => peer.signal(sessionPath(session), `${login}.Session`, 'Lock'),
    changed: (session, properties, unsaid = []) => {
      const body = ['sa{sv}as', `${login}.Session`, properties, unsaid] as const;
      peer.signal(sessionPath(session), 'org.freedesktop.DBus.Properties', 'PropertiesChanged', body);
    },
    prepareForSleep: (isBefore) =>
      peer.signal(manager, `${login}.Manager`, 'PrepareForSleep', ['b', isBefore]),
    close: () => peer.close(),
  };
}
