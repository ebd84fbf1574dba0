/**
 * oidc-agent as a contender, where the machine has it (Debian package oidc-agent-cli): an agent in a temporary folder, one
 * account at a small server over HTTPS whose tokens live an hour, and requests by oidc-agent's own client library.
 *
 * Invariant: it uses no account and no agent of the person who runs the bench, and nothing of it is left after `end`.
 */
import koffi from 'koffi';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { throwAwayCertificates } from '../src/serve/certificate.ts';
import { listenOnLoopback } from '../src/serve/tls-listener.ts';
import { compiled } from './compiled.ts';

const account = 'bench';

export interface OidcAgent {
  readonly pid: number;
  /** One new connection, request and answer. It keeps this process waiting, as C programs are kept. */
  readonly ask: () => void;
  /** Clients at once, each a process in C, and their requests in all. Undefined where there is no C compiler. */
  readonly crowd: ((clients: number, requests: number) => Promise<Crowd>) | undefined;
  readonly end: () => Promise<void>;
}

/** `rate`: requests a second; `p99`: the 99th percentile of their times, in milliseconds. */
export type Crowd = Readonly<Record<'rate' | 'p99', number>>;

/** Undefined where the machine has no oidc-agent. */
export async function startOidcAgent(folder: string): Promise<OidcAgent | undefined> {
  if (spawnSync('oidc-agent', ['--version'], { stdio: 'ignore' }).status !== 0) return undefined;
  const getAccessToken = clientLibrary();
  if (!getAccessToken) return undefined;
  const home = path.join(folder, 'oidc-agent');
  mkdirSync(path.join(home, '.oidc-agent'), { recursive: true, mode: 0o700 });
  const server = await tokenServer(home);
  const socket = path.join(home, 'agent.sock');
  const env = { PATH: process.env['PATH'], HOME: home, OIDC_SOCK: socket, OIDC_ENCRYPTION_PW: 'bench' };
  const agent = spawn('oidc-agent', ['-d', '-a', socket], { env, stdio: 'ignore' });
  while (agent.exitCode === null && !existsSync(socket)) await sleep(20);
  const end = async (): Promise<void> => {
    agent.kill();
    await server.close();
  };
  const made = await addAccount(env, server.issuer, path.join(home, 'ca.pem'));
  if (!made || agent.pid === undefined) {
    await end();
    return undefined;
  }
  // `ask` keeps this process waiting, and with it the server: the token must be there before.
  await promisify(execFile)('oidc-token', [account], { env });
  // The library reads it from this process's environment.
  process.env['OIDC_SOCK'] = socket;
  const program = compiled(folder, 'oidc-crowd');
  return {
    pid: agent.pid,
    ask: () => {
      if (!getAccessToken(account, 60, null)) throw new Error('oidc-agent gave no token');
    },
    crowd:
      program === undefined
        ? undefined
        : async (clients, requests) => {
            const args = [account, String(clients), String(requests)];
            const { stdout } = await promisify(execFile)(program, args, { env });
            const [rate = Number.NaN, p99 = Number.NaN] = stdout.split(' ').map(Number);
            return { rate, p99 };
          },
    end,
  };
}

type GetAccessToken = (account: string, leastSeconds: number, scope: string | null) => string | null;

function clientLibrary(): GetAccessToken | undefined {
  try {
    const library = koffi.load('liboidc-agent.so.4');
    return library.func('char *getAccessToken(const char *, long, const char *)') as GetAccessToken;
  } catch {
    return undefined;
  }
}

/** Oidc-agent has no account of that name yet; it asks nobody. */
async function addAccount(env: NodeJS.ProcessEnv, issuer: string, ca: string): Promise<boolean> {
  const settings = ['--manual', `--iss=${issuer}`, '--client-id=bench', '--client-secret=bench'];
  const answers = ['--no-webserver', '--pw-env', '--prompt=none', '--confirm-default'];
  const given = [
    '--rt=bench',
    `--cp=${ca}`,
    '--scope=openid offline_access',
    '--redirect-uri=http://localhost:4242',
  ];
  return promisify(execFile)('oidc-gen', [account, ...settings, ...given, ...answers], {
    env,
    timeout: 20_000,
  }).then(
    () => true,
    () => false,
  );
}

/** Knows one client and answers each refresh with a token of an hour. */
async function tokenServer(folder: string): Promise<{ issuer: string; close(): Promise<void> }> {
  const certificates = await throwAwayCertificates();
  writeFileSync(path.join(folder, 'ca.pem'), certificates.ca);
  const listener = await listenOnLoopback(certificates, 0);
  const issuer = listener.origin;
  const answer: RequestListener = (request, response) => {
    const body = request.url?.startsWith('/.well-known/')
      ? {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          scopes_supported: ['openid', 'offline_access'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          response_types_supported: ['code'],
        }
      : {
          access_token: 'x'.repeat(1200),
          token_type: 'Bearer',
          expires_in: 3600,
          refresh_token: 'bench',
          scope: 'openid offline_access',
        };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  };
  listener.serve(answer);
  return { issuer, close: async () => listener.close() };
}
