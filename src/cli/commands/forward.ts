/**
 * `keyturn forward`: lets programs of another machine, or of a sandbox, ask this broker.
 *
 * Invariant: the forward lives as long as this command. Whatever ends the command ends the forward.
 */
import path from 'node:path';
import { exitCodes, KeyturnError, quoted, shellWord, Unreachable } from '../../base/errors.ts';
import type { Connection } from '../../client/connection.ts';
import { forwardLabelPattern } from '../../ipc/wire/forwarded.ts';
import { connect } from '../broker/connection.ts';
import { ask, call } from '../broker/request.ts';
import { requireSocketLength } from '../../ipc/wire/socket-path.ts';
import { requireSandboxFolder } from '../forward/sandbox-folder.ts';
import type { OtherMachine } from '../forward/ssh.ts';
import { durationFrom, resourceFrom, UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, printJson, printTable, say, when } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'forward',
    summary: 'let programs elsewhere ask for tokens here',
    operands: [{ name: 'HOST|RESOURCE', optional: true, repeatable: true }],
    options: {
      socket: {
        type: 'string',
        value: 'PATH',
        summary: 'for a sandbox: listen at PATH',
        more: ', which ends in .sock and lies in a folder of yours with mode 0700',
      },
      as: { type: 'string', value: 'LABEL', summary: 'what cards call it', more: '; by default the host' },
      for: {
        type: 'string',
        value: 'TIME',
        summary: 'how long at most: 30m, 8h, 2d',
        more: ' (default 8h)',
      },
      list: { type: 'boolean', summary: 'show the forwards that are open' },
      end: { type: 'string', value: 'LABEL', summary: 'end a forward' },
      json: { type: 'boolean', summary: 'print it as JSON' },
    },
    usage: [
      'forward HOST RESOURCE... [--as LABEL] [--for TIME] [--json]',
      'forward --socket PATH RESOURCE... [--for TIME] [--json]',
      'forward --list [--json]',
      'forward --end LABEL',
    ],
    about:
      'Give programs elsewhere a socket that leads to this broker: on another machine, over your own ssh, or in a sandbox of this one. They can ask for tokens of the servers that you name, and for nothing else. Each has to be paired and allowed here. Sign-ins, keys and refresh tokens stay on this machine.',
    notes: [
      'The command prints the path of the socket and stays. The forward ends with it. Elsewhere, set KEYTURN_SOCKET to that path; then keyturn token, bridge, headers and exec work there.',
      'For HOST, whatever `ssh HOST` takes will do. Programs stay paired for as long as the host has the same key.',
    ],
    exitCodes: {
      0: 'its time is over, or it was ended',
      6: 'the host was not reached, or is gone',
      8: 'no broker, or the folder of the socket is not yours alone',
    },
    examples: [
      'keyturn forward build.example https://notes.example/mcp',
      'keyturn forward --socket "$XDG_RUNTIME_DIR/box/agent.sock" https://notes.example/mcp --for 1h',
    ],
  },
  async ({ options, operands }) => {
    const { socket, list, end } = options;
    const forms = [socket, list, end].filter((form) => form !== undefined);
    if (forms.length > 1) throw new UsageError('--socket, --list and --end each stand alone');
    if (list) return show(options.json === true);
    if (end !== undefined) {
      await ask('forward.end', { forward: end });
      return exitCodes.ok;
    }
    if (process.platform === 'win32') throw notOnWindows();
    const [host, ...resources] = operands;
    if (socket !== undefined) return toSandbox(path.resolve(socket), asked(operands, options));
    if (host === undefined) throw new UsageError('forward needs a HOST, or --socket PATH');
    if (/^https?:/.test(host))
      throw new UsageError('forward needs a HOST before the RESOURCE, or --socket PATH');
    return toHost(host, asked(resources, options));
  },
);

interface Asked {
  readonly resources: readonly string[];
  readonly label: string | undefined;
  /** Seconds. */
  readonly lifetime: number;
  readonly isJson: boolean;
}

type Options = { readonly as?: string; readonly for?: string; readonly json?: boolean };

function asked(resources: readonly string[], { as, for: time = '8h', json = false }: Options): Asked {
  if (resources.length === 0) throw new UsageError('forward needs the RESOURCE that it is for');
  return {
    resources: resources.map(resourceFrom),
    label: as,
    lifetime: durationFrom(time, '--for'),
    isJson: json,
  };
}

async function show(isJson: boolean): Promise<number> {
  const { forwards } = await ask('forward.list', {});
  if (isJson) printJson(forwards);
  else
    printTable(
      ['FORWARD', 'HOST KEY', 'SERVERS', 'UNTIL', 'CONNECTIONS'],
      forwards.map(({ label, hostKey = '-', resources, until, connections }) => [
        label,
        hostKey,
        resources.join(', '),
        when(until),
        String(connections),
      ]),
    );
  return exitCodes.ok;
}

async function toSandbox(socket: string, { resources, label, lifetime, isJson }: Asked): Promise<number> {
  const own = labelFrom(path.basename(socket, '.sock'));
  if (!socket.endsWith('.sock')) throw new UsageError('--socket wants a path that ends in .sock');
  if (label !== undefined && label !== own)
    throw new UsageError('--as does not go with --socket: the name of the socket is the label');
  const connection = await connect();
  return untilOver(connection, async () => {
    requireSandboxFolder(socket, process.env);
    const { forward } = await call(connection, 'forward.open', {
      label: own,
      path: socket,
      resources: [...resources],
      lifetime,
    });
    tell(socket, forward, isJson);
    return { id: forward.id };
  });
}

async function toHost(host: string, { resources, label, lifetime, isJson }: Asked): Promise<number> {
  const own = labelFrom(
    label ??
      host
        .replace(/^ssh:\/\//, '')
        .replace(/^.*@/, '')
        .replace(/:\d+$/, ''),
  );
  const connection = await connect();
  const left = new AbortController();
  let machine: OtherMachine | undefined;
  let far: string | undefined;
  try {
    return await untilOver(connection, async () => {
      const { connectOverSsh } = await import('../forward/ssh.ts');
      machine = await connectOverSsh(host, left.signal);
      const folder = await machine.prepare();
      const { forward } = await call(connection, 'forward.open', {
        label: own,
        hostKey: machine.hostKey,
        resources: [...resources],
        lifetime,
      });
      const socket = farSocket(folder, forward);
      await machine.forward(socket, forward.socket);
      far = socket;
      tell(socket, forward, isJson);
      return { id: forward.id, gone: machine.gone.then(() => hostGone(host)) };
    });
  } finally {
    left.abort();
    await machine?.end(far);
  }
}

/** Throws `socket_unsafe`. */
function farSocket(folder: string, { label, mark = '' }: Forward): string {
  const socket = `${folder}/${label}@${mark}.sock`;
  requireSocketLength(socket);
  return socket;
}

interface Standing {
  readonly id: string;
  /** Resolves with what to throw once the other machine is gone. */
  readonly gone?: Promise<KeyturnError>;
}

/** Milliseconds between two looks whether the broker is still there. */
const lookInterval = 500;

/** Opens the forward and stays until it is over. Throws what ended it before its time. */
async function untilOver(connection: Connection, open: () => Promise<Standing>): Promise<number> {
  const over = Promise.withResolvers<number>();
  const ended = new Set<unknown>();
  let standing: Standing | undefined;
  connection.onNotification((method, params) => {
    if (method !== 'forward.ended' || typeof params !== 'object' || params === null) return;
    ended.add((params as { id?: unknown }).id);
    if (standing && ended.has(standing.id)) over.resolve(exitCodes.ok);
  });
  const interrupted = (): void => over.resolve(exitCodes.interrupted);
  const looking = setInterval(() => {
    if (!connection.isOpen) over.reject(brokerGone());
  }, lookInterval);
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  process.once('SIGHUP', interrupted);
  try {
    const opening = async (): Promise<number> => {
      standing = await open();
      if (ended.has(standing.id)) return exitCodes.ok;
      if (!standing.gone) return over.promise;
      throw await standing.gone;
    };
    return await Promise.race([over.promise, opening()]);
  } finally {
    clearInterval(looking);
    connection.close();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
    process.off('SIGHUP', interrupted);
  }
}

type Forward = Awaited<ReturnType<typeof ask<'forward.open'>>>['forward'];

/** `at`: the socket as programs there find it. */
function tell(at: string, forward: Forward, isJson: boolean): void {
  if (isJson) printJson({ ...forward, socket: at });
  else print(at);
  if (!process.stderr.isTTY) return;
  say(`keyturn: ${quoted(forward.label)} may ask until ${when(forward.until)}. There, run:`);
  say(`  export KEYTURN_SOCKET=${shellWord(at)}`);
}

function labelFrom(text: string): string {
  if (forwardLabelPattern.test(text)) return text;
  throw new UsageError(
    `${quoted(text)} can be no label: it takes up to 32 letters, digits, dots, dashes and underscores. Name it with --as`,
  );
}

function hostGone(host: string): Unreachable {
  return new Unreachable(
    'host_unreachable',
    `The connection to ${quoted(host)} is gone, and the forward with it.`,
    {
      hint: 'Run the command again.',
    },
  );
}

function brokerGone(): Unreachable {
  return new Unreachable('broker_unreachable', 'The broker ended, and the forward with it.', {
    hint: 'Run the command again.',
  });
}

function notOnWindows(): KeyturnError {
  return new KeyturnError('invalid_request', 'keyturn forward does not run on Windows.', {
    hint: 'Run the broker and the command in WSL.',
  });
}
