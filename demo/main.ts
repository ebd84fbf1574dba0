/**
 * `npm run demo`: Keyturn's main job on real parts, a line for each step, and the servers' own counts
 * at the end. Exits 0 only if every count is as stated.
 *
 *   npm run demo                  asks you on the terminal
 *   npm run demo -- --yes         answers for you, and says so
 *   npm run demo -- --keep        leaves it all running, to try from a second terminal
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, KeyturnError } from '@keyturn/client';
import { type EnvFile, takeEnvFile } from './env-file.ts';
import { type Person, person } from './person.ts';
import { pairProgram, type Program, useBridge } from './program.ts';
import { setStage, type Stage, tokenLifetime } from './stage.ts';
import { tryStolen } from './stolen-token.ts';

const args = process.argv.slice(2);
const unknown = args.find((arg) => !['--yes', '--keep'].includes(arg));
if (unknown !== undefined) {
  process.stderr.write(`demo: unknown argument ${unknown}; there are --yes and --keep\n`);
  process.exit(2);
}

const envFile = args.includes('--keep') ? envFileOrExit() : undefined;

/** Ends the process where another demo has it. */
function envFileOrExit(): EnvFile {
  const taken = takeEnvFile(process.cwd());
  if (typeof taken !== 'string') return taken;
  process.stderr.write(`demo: ${taken}\n`);
  process.exit(2);
}

interface Fact {
  readonly what: string;
  readonly expected: number | string;
  readonly actual: number | string;
}

/** SIGHUP: the terminal was closed. */
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let step = 0;
const facts: Fact[] = [];

function printStep(line: string): void {
  step += 1;
  process.stdout.write(`${String(step).padStart(2)}. ${line}\n`);
}

function expect(what: string, expected: Fact['expected'], actual: Fact['actual']): void {
  facts.push({ what, expected, actual });
}

async function main(): Promise<boolean> {
  const isPresent = process.stdin.isTTY && !args.includes('--yes');
  const hasDisplay =
    ['DISPLAY', 'WAYLAND_DISPLAY'].some((name) => process.env[name]) || process.platform !== 'linux';
  const stage = await setStage(isPresent && hasDisplay);
  const interrupted = (): void => {
    envFile?.remove();
    void stage.close().finally(() => process.exit(130));
  };
  for (const signal of endSignals) process.once(signal, interrupted);
  try {
    await play(stage, person(stage, isPresent, printStep));
    const isGood = await summary(stage);
    if (envFile) await keep(stage, envFile);
    return isGood;
  } finally {
    await stage.close();
  }
}

async function play(stage: Stage, you: Person): Promise<void> {
  const { issuer, url } = stage.servers;
  printStep(
    `keyturn dev-server started an authorization server at ${issuer} and a protected server at ${url}`,
  );
  printStep(
    `started the broker, home ${stage.home}; it keeps tokens in ${stage.vault}; ${stage.browser} signs in`,
  );
  await unauthorized(stage);
  const reader = await paired(stage, you, 'notes-reader');
  await firstToken(stage, you, reader);
  const second = await paired(stage, you, 'notes-second');
  await sharedSignIn(stage, you, second);
  await fiftyCallers(stage, reader);
  await stepUp(stage, you, reader);
  await narrowToken(stage, second);
  await stockClient(stage, you);
  await stolenToken(stage, you, reader);
  await revoke(stage, reader);
  await Promise.all([reader.close(), second.close()]);
}

async function unauthorized(stage: Stage): Promise<void> {
  const { url } = stage.servers;
  const response = await stage.servers.fetch(url, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  const challenge = response.headers.get('www-authenticate') ?? 'no challenge';
  printStep(`an app calls ${url} without a token: ${response.status}, ${challenge.split(' ')[0]} challenge`);
  expect('status without a token', 401, response.status);
}

async function paired(stage: Stage, you: Person, name: string): Promise<Program> {
  const program = pairProgram(stage, name, (code) =>
    printStep(`${name} asks the broker to be paired and shows the code ${code}`),
  );
  // A refusal may come while the user's answer is still on its way; it is thrown below all the same.
  program.catch(() => undefined);
  await you.answer('pair');
  return program;
}

/** Ends with the call, whether or not you were asked. */
async function allowed(you: Person, call: Promise<void>): Promise<void> {
  await Promise.race([you.answer('allow'), call]);
  await call;
}

async function firstToken(stage: Stage, you: Person, reader: Program): Promise<void> {
  await allowed(you, reader.callTool('list-notes'));
  const { signIns } = stage.servers.counts();
  printStep(`signed in at ${stage.servers.issuer}; ${reader.name} called list-notes: 200`);
  expect('sign-ins for the first program', 1, signIns);
}

async function sharedSignIn(stage: Stage, you: Person, second: Program): Promise<void> {
  const before = stage.servers.counts().signIns;
  await allowed(you, second.callTool('list-notes'));
  printStep(`${second.name} uses the same sign-in and called list-notes: 200, with no further sign-in`);
  expect('further sign-ins for the second program', 0, stage.servers.counts().signIns - before);
}

async function fiftyCallers(stage: Stage, reader: Program): Promise<void> {
  const resource = stage.servers.url;
  const { expires_at: expiresAt = 0, tokenId } = await reader.connection.getToken({ resource });
  const connections = await Promise.all(
    Array.from({ length: 50 }, () => connect({ name: reader.name, env: stage.env })),
  );
  printStep(
    `waiting ${Math.max(0, Math.ceil(expiresAt - Date.now() / 1000))} s for the access token to expire …`,
  );
  await sleep(Math.max(0, (expiresAt + 1) * 1000 - Date.now()));
  const before = stage.servers.counts().refreshes;
  const tokens = await Promise.all(connections.map((connection) => connection.getToken({ resource })));
  const refreshes = stage.servers.counts().refreshes - before;
  for (const connection of connections) connection.close();
  const distinct = new Set(tokens.map((token) => token.tokenId)).size;
  printStep(
    `50 callers asked at once: ${refreshes} refresh at the authorization server, which rotated the refresh token`,
  );
  expect('refreshes for 50 callers', 1, refreshes);
  expect('tokens that the 50 callers got', 1, distinct);
  expect('the old token among them', 0, tokens.filter((token) => token.tokenId === tokenId).length);
}

async function stepUp(stage: Stage, you: Person, reader: Program): Promise<void> {
  const before = stage.servers.counts();
  await allowed(you, reader.callTool('add-note', { note: 'from the demo' }));
  const after = stage.servers.counts();
  printStep(
    `${reader.name} called add-note: 403 insufficient_scope, so it was allowed more, signed in again (step-up), and got 200`,
  );
  expect('sign-ins for the step-up', 1, after.signIns - before.signIns);
  expect('403 answers that led to it', 1, after.insufficientScope - before.insufficientScope);
}

async function narrowToken(stage: Stage, second: Program): Promise<void> {
  const resource = stage.servers.url;
  const { scope } = await second.connection.getToken({ resource });
  printStep(`${second.name} may only read: its token carries "${scope}", although the sign-in has more`);
  expect('scope of the narrow program', 'notes:read', scope);
}

/** What a newcomer does: connects the entry once, and changes one line of a client's configuration. */
async function stockClient(stage: Stage, you: Person): Promise<void> {
  const { url } = stage.servers;
  const name = 'stock-client';
  const before = stage.servers.counts().signIns;
  const begin = async () => stage.keyturn('connect', url, '--as', name);
  let connecting = begin();
  for (const kind of ['pair', 'allow'] as const) {
    const answered = you.answer(kind);
    const early = await Promise.race([answered, connecting]);
    // It waits for seconds, and the question for minutes.
    if (early && !early.stderr.includes('consent_pending')) break;
    await answered;
    if (early) connecting = begin();
  }
  const { code, stderr } = await connecting;
  if (code !== 0) throw new KeyturnError('login_failed', stderr.trim());
  const tools = await useBridge(stage, name);
  printStep(
    `${name} is the protocol's own client as it comes; it started keyturn bridge as its server, listed ${tools.length} tools and called list-notes: no sign-in, and no token in its process`,
  );
  expect('tools that the stock client saw through the bridge', 'list-notes, add-note', tools.join(', '));
  expect('further sign-ins for it', 0, stage.servers.counts().signIns - before);
}

/** A token that is bound to a DPoP key of the broker works with the broker's proofs, and in nobody else's hands. */
async function stolenToken(stage: Stage, you: Person, reader: Program): Promise<void> {
  const seen: Request[] = [];
  const bound = { servers: stage.bound, onRequest: (request: Request) => seen.push(request) };
  await allowed(you, reader.callTool('list-notes', {}, bound));
  printStep(
    `${stage.bound.url} takes only tokens that are bound to a DPoP key: ${reader.name} called list-notes with the broker's proofs: 200`,
  );
  const { asBearer, withOwnKey, withUsedProof } = await tryStolen(stage.bound, seen);
  printStep(
    `a thief has that token. As a Bearer token: ${asBearer}; with a key of the thief's: ${withOwnKey}; with a proof that was used: ${withUsedProof}`,
  );
  expect('stolen token as a Bearer token', '401 invalid_token', asBearer);
  expect("stolen token with another's key", '401 invalid_dpop_proof', withOwnKey);
  expect('stolen token with a used proof', '401 invalid_dpop_proof', withUsedProof);
}

async function revoke(stage: Stage, reader: Program): Promise<void> {
  const { url } = stage.servers;
  const token = await reader.connection.getToken({ resource: url });
  const { stdout } = await stage.keyturn('logout', url, '--json');
  const isConfirmed = stdout.includes('"confirmed"');
  // A signed token is good until it ends; nothing renews it any more.
  await sleep(Math.max(0, ((token.expires_at ?? 0) + 1) * 1000 - Date.now()));
  const headers = { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' };
  const after = await stage.servers.fetch(url, { method: 'POST', body: '{}', headers });
  const reason = await reader.connection.getToken({ resource: url, interaction: 'allow' }).then(
    () => 'a token',
    (error: unknown) => (error instanceof KeyturnError ? error.reason : 'an unknown error'),
  );
  printStep(
    `you revoked the sign-in: ${isConfirmed ? 'confirmed by the authorization server (RFC 7009)' : 'not confirmed'}`,
  );
  printStep(
    `the last token lived out its ${tokenLifetime} s and now gets ${after.status}; the broker refuses the next request: ${reason}`,
  );
  expect('revocation', 'confirmed', isConfirmed ? 'confirmed' : 'not confirmed');
  expect('status of the last token once it ended', 401, after.status);
  expect("the broker's answer after revocation", 'login_required', reason);
}

async function summary(stage: Stage): Promise<boolean> {
  const counts = stage.servers.counts();
  const audit = await readFile(path.join(stage.home, 'state', 'audit.jsonl'), 'utf8');
  const audited = audit
    .split('\n')
    .filter((line) => line.includes('"event":"refresh","outcome":"ok"')).length;
  expect('sign-ins in all', 2, counts.signIns);
  expect('registrations in all', 1, counts.registrations);
  expect('refreshes in all (and rows of our audit log)', audited, counts.refreshes);
  expect('refresh tokens used twice', 0, counts.refreshReuses);
  expect('refresh tokens revoked, one a sign-in', 2, counts.revocations);
  process.stdout.write("\nThe servers' own counts, compared with what was expected:\n");
  const width = Math.max(...facts.map(({ what }) => what.length));
  for (const { what, expected, actual } of facts) {
    const verdict = actual === expected ? 'ok' : `WRONG, expected ${expected}`;
    process.stdout.write(`  ${what.padEnd(width)}  ${String(actual).padEnd(14)}  ${verdict}\n`);
  }
  const wrong = facts.filter(({ expected, actual }) => expected !== actual).length;
  process.stdout.write(wrong === 0 ? '\nAll counts are as expected.\n' : `\n${wrong} not as expected.\n`);
  return wrong === 0;
}

/** Signs in once more, writes the lines for a second terminal, and waits for an interrupt. */
async function keep(stage: Stage, file: EnvFile): Promise<void> {
  const { url } = stage.servers;
  await stage.keyturn('app', 'allow', 'cli', url);
  await stage.keyturn('login', url);
  const lines = file.write({
    KEYTURN_HOME: stage.home,
    NODE_EXTRA_CA_CERTS: stage.caFile,
    CURL_CA_BUNDLE: stage.caFile,
    // A broker that is started anew finds the keyring by it.
    ...(stage.bus === undefined ? {} : { DBUS_SESSION_BUS_ADDRESS: stage.bus }),
    NOTES: url,
  });
  process.stdout.write(
    `\nEverything keeps running. In a second terminal, in this folder, type these lines (for the exports you can type: . ./.demo.env):\n\n${lines}npx keyturn token "$NOTES"\n\n` +
      `Keyturn is signed in there again. End all of it here with Ctrl-C. Then close the second terminal: its variables name a home that is gone.\n`,
  );
  const wait = Promise.withResolvers<void>();
  const alive = setInterval(() => undefined, 60_000);
  for (const signal of endSignals) {
    process.removeAllListeners(signal);
    process.once(signal, () => wait.resolve());
  }
  await wait.promise;
  clearInterval(alive);
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  // For example, the user denied it. The broker's messages hold no secrets.
  if (!(error instanceof KeyturnError)) throw error;
  process.stderr.write(`demo: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  envFile?.remove();
}
