/**
 * How many tokens a second the authorization server issues with its state in SQLite: refreshes, each of which uses up a
 * refresh token, keeps the next one durably and signs an access token. The server is a process of its own, over plain http; sixteen
 * clients ask at once. Beside it the same with the state in memory, and with the file sealed. Prints medians and ratios, asserts
 * nothing: `node bench/issued-tokens.ts`.
 */
import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  authorizationServer,
  developmentLogin,
  memoryStorage,
  sealedStorage,
  sqliteStorage,
} from '../src/server/authorization/index.ts';
import type { Storage } from '../src/server/authorization/index.ts';
import { medianOf } from './median.ts';

const forms = ['memory', 'SQLite', 'sealed SQLite'] as const;
type Form = (typeof forms)[number];

const redirectUri = 'http://127.0.0.1:9/callback';
const resource = 'http://127.0.0.1:8080/mcp';
const client_id = 'bench';

function storageOf(form: Form, folder: string): Storage {
  if (form === 'memory') return memoryStorage();
  const sqlite = sqliteStorage(path.join(folder, `${form}.db`));
  return form === 'SQLite' ? sqlite : sealedStorage(sqlite, [{ id: 'k', key: randomBytes(32) }]);
}

/** The server's process: says its issuer, and answers until it is ended. */
async function serve(form: Form, folder: string): Promise<void> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server = await authorizationServer({
    issuer,
    resources: [{ resource, scopes: { use: 'Use it' } }],
    accounts: developmentLogin(['alice']),
    clients: [{ clientId: client_id, redirectUris: [redirectUri] }],
    storage: storageOf(form, folder),
    // All sixteen come from one address.
    requestLimit: { requests: 1_000_000, seconds: 60 },
  });
  http.on('request', server.handler);
  process.send?.(issuer);
}

interface Answer {
  readonly location: string | undefined;
  readonly cookies: readonly string[];
  readonly body: string;
}

async function ask(url: string, agent: Agent, form?: URLSearchParams, cookie = ''): Promise<Answer> {
  const headers = {
    ...(cookie === '' ? {} : { cookie }),
    ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
  };
  const sent = request(url, { agent, headers, method: form ? 'POST' : 'GET' });
  sent.end(form?.toString());
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of answer) body += String(chunk);
  return { location: answer.headers.location, cookies: answer.headers['set-cookie'] ?? [], body };
}

/** Signs alice in through the pages; answers the first refresh token. */
async function signIn(issuer: string, agent: Agent): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const cookies = new Map<string, string>();
  let url = `${issuer}/auth?${query.toString()}`;
  let form: URLSearchParams | undefined;
  while (!url.startsWith(redirectUri)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await ask(url, agent, form, cookie);
    for (const line of answer.cookies) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const token = /name="form_token" value="([^"]*)"/.exec(answer.body)?.[1] ?? '';
    form = answer.location
      ? undefined
      : new URLSearchParams({ form_token: token, login: 'alice', decision: 'allow' });
    url = new URL(answer.location ?? url, issuer).href;
  }
  return refreshTokenOf(
    await ask(
      `${issuer}/token`,
      agent,
      new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(url).searchParams.get('code') ?? '',
        code_verifier: verifier,
        client_id,
        redirect_uri: redirectUri,
      }),
    ),
  );
}

function refreshTokenOf({ body }: Answer): string {
  const { refresh_token: token } = JSON.parse(body) as { refresh_token?: string };
  if (token === undefined) throw new Error(body);
  return token;
}

/** Tokens a second, of as many clients at once as there are tokens. Each token is replaced by the one that it led to. */
async function throughput(issuer: string, agent: Agent, tokens: string[], each: number): Promise<number> {
  const from = performance.now();
  await Promise.all(
    tokens.map(async (_, at) => {
      for (let n = 0; n < each; n += 1) {
        const form = { grant_type: 'refresh_token', refresh_token: tokens[at] ?? '', client_id };
        tokens[at] = refreshTokenOf(await ask(`${issuer}/token`, agent, new URLSearchParams(form)));
      }
    }),
  );
  return (tokens.length * each) / ((performance.now() - from) / 1000);
}

const crowd = 16;

/** Turn by turn, so that a change of the machine's load meets all forms. */
const turns = 5;

async function measure(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-bench-'));
  const agent = new Agent({ keepAlive: true });
  const children = forms.map((form) => fork(import.meta.filename, [form, folder]));
  try {
    const servers: { issuer: string; tokens: string[] }[] = [];
    for (const child of children) {
      const [issuer] = (await once(child, 'message')) as [string];
      const tokens: string[] = [];
      for (let n = 0; n < crowd; n += 1) tokens.push(await signIn(issuer, agent));
      servers.push({ issuer, tokens });
    }
    const rates = forms.map((): number[] => []);
    for (let turn = 0; turn <= turns; turn += 1) {
      for (const [at, { issuer, tokens }] of servers.entries()) {
        const rate = await throughput(issuer, agent, tokens, 40);
        // The first turn warms up.
        if (turn > 0) rates[at]?.push(rate);
      }
    }
    const [memory = 0] = rates.map(medianOf);
    for (const [at, form] of forms.entries()) {
      const rate = medianOf(rates[at] ?? []);
      process.stdout.write(
        `${form.padEnd(14)} ${rate.toFixed(0).padStart(5)} tokens/s   ×${(rate / memory).toFixed(2)}\n`,
      );
    }
  } finally {
    agent.destroy();
    for (const child of children) child.kill();
    await Promise.all(children.map(async (child) => child.exitCode ?? once(child, 'exit')));
    rmSync(folder, { recursive: true });
  }
}

const [, , form, folder = ''] = process.argv;
if (form === undefined) await measure();
else await serve(form as Form, folder);
