/**
 * oidc-agent beside us, where the machine has it (Debian: oidc-agent-cli): an agent in a temporary folder, with accounts at the
 * bench's servers, asked by its own C library.
 *
 * Invariant: it uses no account and no agent of yours, and nothing of it is left after `end`.
 */
import koffi from 'koffi';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ended, fileHere } from './process.ts';

const run = promisify(execFile);

/** Accounts by issuer (servers.ts): tokens that live an hour, and tokens that are soon beyond their life. */
const accounts = { lasting: '/3600/0', brief: '/5/200' } as const;

export interface OidcAgent {
  readonly pid: number;
  readonly env: NodeJS.ProcessEnv;
  /** One new connection, request and answer. It keeps this process waiting, as C programs are kept. */
  readonly ask: () => void;
  /** So many clients ask at once for `brief`, each a process in C: milliseconds. NaN where there is no C compiler. */
  readonly crowd: (clients: number) => Promise<number>;
  readonly end: () => Promise<void>;
}

export async function startOidcAgent(
  folder: string,
  { origin, ca }: Readonly<Record<'origin' | 'ca', string>>,
): Promise<OidcAgent | undefined> {
  if (spawnSync('oidc-agent', ['--version'], { stdio: 'ignore' }).status !== 0) return undefined;
  const home = path.join(folder, 'oidc-agent');
  const [socket, caFile] = [path.join(home, 'agent.sock'), path.join(home, 'ca.pem')];
  mkdirSync(path.join(home, '.oidc-agent'), { recursive: true, mode: 0o700 });
  writeFileSync(caFile, ca);
  const env = { PATH: process.env['PATH'], HOME: home, OIDC_SOCK: socket, OIDC_ENCRYPTION_PW: 'bench' };
  const agent = spawn('oidc-agent', ['-d', '-a', socket], { env, stdio: 'ignore' });
  while (agent.exitCode === null && !existsSync(socket)) await sleep(20);
  for (const [account, issuer] of Object.entries(accounts)) {
    const client = ['--client-id=bench', '--client-secret=bench', '--redirect-uri=http://localhost:4242'];
    const answers = ['--no-webserver', '--pw-env', '--prompt=none', '--confirm-default', '--rt=bench'];
    const server = [`--iss=${origin}${issuer}`, `--cp=${caFile}`, '--scope=openid offline_access'];
    await run('oidc-gen', [account, '--manual', ...server, ...client, ...answers], { env, timeout: 20_000 });
  }
  // `ask` keeps this process waiting: the token is there before.
  await run('oidc-token', ['lasting'], { env });
  // The library reads it from this process's environment.
  process.env['OIDC_SOCK'] = socket;
  const getAccessToken = koffi
    .load('liboidc-agent.so.4')
    .func('char *getAccessToken(const char *, long, const char *)') as (...given: unknown[]) => unknown;
  const crowd = compiled(folder);
  return {
    pid: agent.pid ?? 0,
    env,
    ask: () => {
      if (!getAccessToken('lasting', 60, null)) throw new Error('oidc-agent gave no token');
    },
    crowd: async (clients) =>
      crowd ? Number((await run(crowd, ['brief', String(clients)], { env })).stdout) : Number.NaN,
    end: async () => ended(agent),
  };
}

function compiled(folder: string): string | undefined {
  const program = path.join(folder, 'oidc-crowd');
  try {
    execFileSync('cc', ['-O2', '-o', program, fileHere('oidc-crowd.c'), '-ldl'], { stdio: 'ignore' });
    return program;
  } catch {
    return undefined;
  }
}
