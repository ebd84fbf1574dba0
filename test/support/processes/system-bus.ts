/**
 * A system's bus for one test: a real dbus-daemon, with the rule of the real one that nobody may watch all messages. No
 * logind runs here, so a double of it says on the bus what logind would say, by libsystemd's own client (sd-bus).
 */
import koffi from 'koffi';
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { busDaemon } from './bus-daemon.ts';

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
  const config = path.join(folder, 'bus.conf');
  writeFileSync(config, policy(path.join(folder, 'bus')));
  return { env: { DBUS_SYSTEM_BUS_ADDRESS: await busDaemon(`--config-file=${config}`) } };
}

export type SystemBus = Awaited<ReturnType<typeof systemBus>>;

const manager = '/org/freedesktop/login1';
const login = 'org.freedesktop.login1';

/** Milliseconds between two looks at what the bus sent. */
const lookEvery = 10;

/**
 * A double of logind, which knows `own` as the session of whoever asks. `name`: as whom it speaks. A session is named by
 * the last part of its path.
 */
export function fakeLogind({ env }: SystemBus, own: string, name = login) {
  const library = koffi.load('libsystemd.so.0');
  const make = library.func('int sd_bus_new(_Out_ void **bus)');
  const setAddress = library.func('int sd_bus_set_address(void *bus, str address)');
  const setBusClient = library.func('int sd_bus_set_bus_client(void *bus, int is)');
  const start = library.func('int sd_bus_start(void *bus)');
  const requestName = library.func('int sd_bus_request_name(void *bus, str name, uint64 flags)');
  const addFilter = library.func('int sd_bus_add_filter(void *bus, void *slot, void *handler, void *data)');
  const isCall = library.func('int sd_bus_message_is_method_call(void *message, str interface, str member)');
  const read = library.func('int sd_bus_message_read_basic(void *message, char type, _Out_ str *value)');
  const reply = library.func('int sd_bus_reply_method_return(void *message, str types, ...)');
  /** Each value of the body after its type in C. */
  const emit = library.func(
    'int sd_bus_emit_signal(void *bus, str path, str interface, str member, str types, ...)',
  );
  const advance = library.func('int sd_bus_process(void *bus, void *message)');
  const hangUp = library.func('void *sd_bus_flush_close_unref(void *bus)');

  const sessionPath = (session: string): string => `${manager}/session/${session}`;
  const handler = koffi.proto('int (void *message, void *data, void *error)');
  const answer = koffi.register((message: unknown) => {
    if (isCall(message, `${login}.Manager`, 'GetSession') <= 0) return 0;
    const asked: [string | null] = [null];
    read(message, 's'.charCodeAt(0), asked);
    return asked[0] === 'auto' ? reply(message, 'o', 'str', sessionPath(own)) : 0;
  }, koffi.pointer(handler));
  const place: [unknown] = [null];
  make(place);
  const [bus] = place;
  setAddress(bus, env.DBUS_SYSTEM_BUS_ADDRESS);
  setBusClient(bus, 1);
  addFilter(bus, null, answer, null);
  start(bus);
  // The end of any child of this process interrupts the wait for the bus. The name may be ours by then.
  let claimed: number = requestName(bus, name, 0);
  while (claimed === -constants.errno.EINTR) claimed = requestName(bus, name, 0);
  if (claimed < 0 && claimed !== -constants.errno.EALREADY)
    throw new Error(`no ${name} on the bus: ${claimed}`);
  const looking = setInterval(() => {
    while (advance(bus, null) > 0);
  }, lookEvery);
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    clearInterval(looking);
    hangUp(bus);
    koffi.unregister(answer);
  };
  onTestFinished(close);
  return {
    lock: (session: string) => emit(bus, sessionPath(session), `${login}.Session`, 'Lock', ''),
    changed(session: string, properties: Readonly<Record<string, boolean>>, unsaid: readonly string[] = []) {
      const values = Object.entries(properties);
      const said = values.flatMap(([key, value]) => ['str', key, 'str', 'b', 'int', Number(value)]);
      const body = ['str', `${login}.Session`, 'int', values.length, ...said, 'int', unsaid.length];
      const from = [bus, sessionPath(session), 'org.freedesktop.DBus.Properties'];
      emit(...from, 'PropertiesChanged', 'sa{sv}as', ...body, ...unsaid.flatMap((key) => ['str', key]));
    },
    prepareForSleep: (isBefore: boolean) =>
      emit(bus, manager, `${login}.Manager`, 'PrepareForSleep', 'b', 'int', Number(isBefore)),
    close,
  };
}

export type Logind = ReturnType<typeof fakeLogind>;
