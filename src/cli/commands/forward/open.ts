/**
 * `keyturn forward open`: lets apps of another machine, or of a sandbox, ask this broker.
 *
 * Invariant: the forward lives as long as this command. Whatever ends the command ends the forward.
 */
import path from 'node:path';
import {
  exitCodes,
  KeyturnError,
  quoted,
  type Reason,
  shellWord,
  Unreachable,
} from '../../../base/errors.ts';
import type { ResultOf } from '../../../ipc/protocol/methods.ts';
import type { Connection } from '../../../client/connection.ts';
import { forwardLabelPattern } from '../../../ipc/wire/forwarded.ts';
import { connect } from '../../broker/connection.ts';
import { call } from '../../broker/request.ts';
import { requireSocketLength } from '../../../ipc/wire/socket-path.ts';
import { requireSandboxFolder } from '../../forward/sandbox-folder.ts';
import type { OtherMachine } from '../../forward/ssh.ts';
import { durationFrom, resourceFrom, UsageError } from '../../terminal/arguments.ts';
import { defineCommand } from '../../terminal/command.ts';
import { forOption, jsonOption } from '../../terminal/statement.ts';
import { print, printJson, say, when } from '../../terminal/output.ts';

export const openForward = defineCommand(
  {
    name: 'forward open',
    summary: 'Open a forward to another machine or a sandbox, and stay',
    operands: [{ name: 'HOST|URL', repeatable: true }],
    options: {
      socket: {
        type: 'string',
        value: 'PATH',
        summary: 'for a sandbox: listen at PATH',
        more: ', which ends in .sock, in your own folder with mode 0700',
      },
      as: { type: 'string', value: 'LABEL', summary: 'the label of this forward', more: ' (default: HOST)' },
      for: forOption(' (default 8h)'),
      json: jsonOption('it'),
    },
    usage: ['forward open HOST URL... [OPTION]...', 'forward open --socket PATH URL... [OPTION]...'],
    about:
      'Give apps on another machine (over ssh) or in a sandbox a socket that leads to this broker. They can ask for tokens of the MCP servers that you name, and of no others.',
    notes: [
      'Each app has to be paired and allowed here. Sign-ins, API keys and refresh tokens stay on this computer.',
      "The command prints the socket's path and stays; the forward ends with it. Elsewhere, set KEYTURN_SOCKET to that path: keyturn token, connect, bridge, headers and exec then work there.",
      'HOST is whatever `ssh HOST` takes. Apps stay paired for as long as the host has the same SSH host key.',
    ],
    exitCodes: {
      0: 'its time is over, or it was closed',
      6: 'the host was not reached, or is gone',
      8: 'no broker, or the folder of the socket is not yours alone',
    },
    examples: [
      'keyturn forward open build.example https://notes.example/mcp',
      'keyturn forward open --socket ~/box/agent.sock https://notes.example/mcp --for 1h',
    ],
  },
  async ({ options, operands: [host, ...urls] }) => {
    const { socket } = options;
    if (process.platform === 'win32')
      throw new KeyturnError('invalid_request', '`keyturn forward` does not run on Windows.', {
        hint: 'Run the broker and the command in WSL.',
      });
    if (socket !== undefined) return toSandbox(path.resolve(socket), asked([host, ...urls], options));
    if (/^https?:/.test(host))
      throw new UsageError('keyturn forward open needs a HOST before the URL, or --socket PATH');
    return toHost(host, asked(urls, options));
  },
);

interface ForwardRequest {
  readonly resources: readonly string[];
  readonly label: string | undefined;
  /** Seconds. */
  readonly lifetime: number;
  readonly isJson: boolean;
}

type Options = { readonly as?: string; readonly for?: string; readonly json?: boolean };

function asked(
  resources: readonly string[],
  { as, for: time = '8h', json = false }: Options,
): ForwardRequest {
  if (resources.length === 0) throw new UsageError('keyturn forward open needs the URL of an MCP server');
  const lifetime = durationFrom(time, '--for');
  return { resources: resources.map(resourceFrom), label: as, lifetime, isJson: json };
}

async function toSandbox(
  socket: string,
  { resources, label, lifetime, isJson }: ForwardRequest,
): Promise<number> {
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

async function toHost(host: string, { resources, label, lifetime, isJson }: ForwardRequest): Promise<number> {
  const own = labelFrom(label ?? host.replace(/^(?:ssh:\/\/)?(?:.*@)?/, '').replace(/:\d+$/, ''));
  const connection = await connect();
  const left = new AbortController();
  let machine: OtherMachine | undefined;
  let far: string | undefined;
  try {
    return await untilOver(connection, async () => {
      const { connectOverSsh } = await import('../../forward/ssh.ts');
      machine = await connectOverSsh(host, left.signal);
      const folder = await machine.prepare();
      const { forward } = await call(connection, 'forward.open', {
        label: own,
        hostKey: machine.hostKey,
        resources: [...resources],
        lifetime,
      });
      const socket = `${folder}/${forward.label}@${forward.mark ?? ''}.sock`;
      requireSocketLength(socket);
      await machine.forward(socket, forward.socket);
      far = socket;
      tell(socket, forward, isJson);
      const gone = `The connection to ${quoted(host)} is gone, and the forward with it.`;
      return { id: forward.id, gone: machine.gone.then(() => ended('host_unreachable', gone)) };
    });
  } finally {
    left.abort();
    await machine?.end(far);
  }
}

interface Standing {
  readonly id: string;
  /** Resolves with what to throw once the other machine is gone. */
  readonly gone?: Promise<KeyturnError>;
}

/** Milliseconds between two looks whether the broker is still there. */
const lookInterval = 500;

const ending = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Opens the forward and stays until it is over. Throws what ended it before its time. */
async function untilOver(connection: Connection, open: () => Promise<Standing>): Promise<number> {
  const over = Promise.withResolvers<number>();
  const endedIds = new Set<unknown>();
  let standing: Standing | undefined;
  connection.onNotification((method, params) => {
    if (method !== 'forward.ended' || typeof params !== 'object' || params === null) return;
    endedIds.add((params as { id?: unknown }).id);
    if (standing && endedIds.has(standing.id)) over.resolve(exitCodes.ok);
  });
  const interrupted = (): void => over.resolve(exitCodes.interrupted);
  const looking = setInterval(() => {
    if (!connection.isOpen)
      over.reject(ended('broker_unreachable', 'The broker ended, and the forward with it.'));
  }, lookInterval);
  for (const signal of ending) process.once(signal, interrupted);
  try {
    const opening = async (): Promise<number> => {
      standing = await open();
      if (endedIds.has(standing.id)) return exitCodes.ok;
      if (!standing.gone) return over.promise;
      throw await standing.gone;
    };
    return await Promise.race([over.promise, opening()]);
  } finally {
    clearInterval(looking);
    connection.close();
    for (const signal of ending) process.off(signal, interrupted);
  }
}

type Forward = ResultOf<'forward.open'>['forward'];

/** `at`: the socket as apps there find it. */
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

const ended = (reason: Reason, message: string): Unreachable =>
  new Unreachable(reason, message, { hint: 'Run the command again.' });
