/**
 * What the broker that runs says of itself. Starts none: where none runs, that is all there is to say.
 *
 * Invariant: works with a locked vault, and with a broker of another version. Nothing is changed.
 */
import { KeyturnError, quoted, reasonOf, shellOption, shellWord } from '../../base/errors.ts';
import type { HomePaths } from '../../base/paths.ts';
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import type { ForwardedSocket } from '../../ipc/wire/forwarded.ts';
import { connectTo } from '../../ipc/wire/socket.ts';
import { displayName } from '../../base/system/display.ts';
import { pauseEnd, when } from '../terminal/output.ts';
import { connectSoon, keyLost } from '../broker/lost-socket.ts';
import { lockHolder } from '../../daemon/home/lock-holder.ts';
import { isAbsent } from '../broker/no-broker.ts';
import { call } from '../broker/request.ts';
import { waitingRows } from '../words/audit-rows.ts';
import { closedProxies } from '../words/closed-proxies.ts';
import { difference, fix as newVersion } from '../broker/versions.ts';
import { type Finding, findingOf, found, foundIf } from './finding.ts';

export type Status = ResultOf<'status'>;
type VaultState = Status['vaultState']['state'];
type OAuthClient = ResultOf<'oauthClient.list'>['oauthClients'][number];
type SignIn = ResultOf<'signIn.list'>['signIns'][number];
type App = ResultOf<'app.list'>['apps'][number];

export interface BrokerLook {
  readonly findings: readonly Finding[];
  readonly status?: Status;
}

export async function checkBroker(paths: HomePaths): Promise<BrokerLook> {
  let connection: Connection | undefined;
  try {
    connection = await connectAsOwner({ paths });
  } catch (error) {
    // One that is still starting makes its key and its socket within a second.
    const mayStart = isAbsent(error) && lockHolder(paths.state) !== undefined;
    connection = mayStart ? await connectSoon() : undefined;
    if (!connection)
      return { findings: isAbsent(error) ? absence(paths) : [findingOf('broker.unproven', error)] };
  }
  try {
    return await ask(connection);
  } finally {
    connection.close();
  }
}

/** The end of a forward, which KEYTURN_SOCKET names: whether somebody listens at its socket. Nothing is sent. */
export async function checkForward({ label, socket }: ForwardedSocket): Promise<BrokerLook> {
  try {
    (await connectTo(socket)).socket.destroy();
  } catch (error) {
    if (reasonOf(error) !== 'broker_unreachable') return { findings: [findingOf('forward.unusable', error)] };
    const findings = found(
      'forward.unusable',
      `Nobody listens at ${quoted(socket)}, which KEYTURN_SOCKET names.`,
      'Show the folder of the socket to this sandbox; or, where the forward has ended, open it again on the machine where the broker runs: keyturn forward open',
    );
    return { findings };
  }
  const findings = found(
    'forward.used',
    `KEYTURN_SOCKET names the forward ${quoted(label)}: broker, keychain and browser are where it was opened.`,
    'Nothing to do here. To look at the broker, run keyturn doctor there.',
  );
  return { findings };
}

function absence(paths: HomePaths): Finding[] {
  const pid = lockHolder(paths.state);
  if (pid === undefined)
    return found(
      'broker.absent',
      'No broker runs for this home.',
      'Nothing to do: the next command that needs one starts it (keyturn sign-in list).',
    );
  const lost = keyLost(paths);
  if (lost) return [findingOf('home.damaged', lost)];
  return found(
    'broker.silent',
    `A broker (pid ${pid}) holds this home, and does not answer on its socket.`,
    'keyturn sign-in list   (it has that broker listen again; if that fails: keyturn broker restart)',
  );
}

async function ask(connection: Connection): Promise<BrokerLook> {
  const sentence = difference(connection);
  const versions = sentence === undefined ? [] : found('versions.differ', sentence, newVersion);
  try {
    const status = await call(connection, 'status', {});
    const ofStatus = [...vaultFindings(status), ...recordFindings(status), ...ruleFindings(status)];
    const listed = await listFindings(connection);
    const elsewhere = connection.capabilities.includes(appCapability) ? [] : displayFindings(status);
    return { status, findings: [...versions, ...ofStatus, ...listed, ...elsewhere] };
  } catch (error) {
    return { findings: versions.length > 0 ? versions : [findingOf('broker.unproven', error)] };
  }
}

/** A broker without a window knows of the desktop only what the user's commands tell it. */
function displayFindings({ display }: Status): Finding[] {
  const here = displayName(process.env);
  if (here === undefined || here === display) return [];
  return found(
    'desktop.other',
    `The broker opens sign-in pages ${display === undefined ? 'nowhere: it has no desktop session' : `at ${display}`}, and this terminal is at ${here}.`,
    'Nothing to do: with the next command from here, e.g. keyturn sign-in list, its pages open here.',
  );
}

/** Files that can't be read are in `status` already. */
async function listFindings(connection: Connection): Promise<Finding[]> {
  try {
    const { oauthClients } = await call(connection, 'oauthClient.list', {});
    const { signIns } = await call(connection, 'signIn.list', {});
    const { apps } = await call(connection, 'app.list', {});
    return [
      ...oauthClients.flatMap((client) => clientFinding(client, signIns)),
      ...(await Promise.all(signIns.filter(needsUser).map((one) => signInFinding(connection, one)))).flat(),
      ...apps.flatMap((app) => app.permissions.flatMap((permission) => endFinding(app, permission))),
    ];
  } catch (error) {
    if (error instanceof KeyturnError) return [];
    throw error;
  }
}

const needsUser = ({ state, apps }: SignIn): boolean => state === 'signInRequired' && apps.length > 0;

function clientFinding({ issuer, clientId, state }: OAuthClient, signIns: readonly SignIn[]): Finding[] {
  const remove = `keyturn oauth-client remove ${shellWord(issuer)} ${shellOption('client-id', clientId)}`;
  if (state === 'replaced')
    return found('oauthClient.replaced', `The client ${clientId} at ${issuer} is not used any more.`, remove);
  const there = signIns.filter((one) => one.issuer === issuer && one.state !== 'revoked');
  return foundIf(
    // These have a finding of their own.
    state === 'rejected' && !there.every(needsUser),
    'oauthClient.rejected',
    `${issuer} no longer accepts the client ${clientId}.`,
    there.map((one) => `${loginAgain(one)} --new-client`).join('; '),
  );
}

/** Nothing where the next request gets a token without a user. */
async function signInFinding(connection: Connection, { id, endpoint, apps }: SignIn): Promise<Finding[]> {
  // One that is gone has nothing to tell.
  const { signIns } = await call(connection, 'signIn.show', { id }).catch(() => ({ signIns: [] }));
  return signIns.flatMap(({ signIn, now, next, refresh }) =>
    foundIf(
      signIn.state === 'signInRequired' && refresh === undefined,
      'signIn.ended',
      `${endpoint}: ${now} Apps that use it: ${apps.join(', ')}.`,
      next,
    ),
  );
}

const loginAgain = ({ endpoint, account = 'default' }: SignIn): string =>
  [
    `keyturn login ${shellWord(endpoint)}`,
    ...(account === 'default' ? [] : [shellOption('account', account)]),
  ].join(' ');

const day = 24 * 60 * 60;

/** Of a permission that was given for longer than the time in which its end is news. */
function endFinding(
  { name }: App,
  { resource, decision, ...permission }: App['permissions'][number],
): Finding[] {
  const { scope, apiKey, run, decidedAt, until = Infinity } = permission;
  const [lasts, left] = [until - (decidedAt ?? until), until - Date.now() / 1000];
  const options = [
    ...(scope === undefined ? [] : [shellOption('scope', scope)]),
    ...(apiKey ? ['--api-key'] : []),
    `--for ${shellWord(`${Math.round(lasts / day)}d`)}`,
  ];
  return foundIf(
    decision === 'allow' && !run && lasts > 3 * day && left < 3 * day,
    'permission.ending',
    `The permission of ${quoted(name)} for ${resource} ends ${when(until)}.`,
    `keyturn app allow ${shellWord(name)} ${shellWord(resource)} ${options.join(' ')}`,
  );
}

/** States of the vault that need somebody; the others pass or are fine. */
const vaultTroubles: readonly VaultState[] = ['absent', 'crashed', 'full', 'damaged'];
const vaultLocks: readonly VaultState[] = ['locked', 'keychainLocked', 'waiting'];

function vaultFindings({ vaultSource, vaultState }: Status): Finding[] {
  const { state, what = `The vault is ${state}.`, hint = 'keyturn unlock' } = vaultState;
  const hasFailed = vaultSource?.hasFailed === true;
  const isTyped = vaultSource?.isUsed === false && !vaultLocks.includes(state);
  return [
    ...foundIf(
      isTyped,
      'vault.typed',
      'The vault was opened by a typed passphrase. The next start asks the place of the setting vaultKey again.',
      'keyturn settings get vaultKey   (give that place the passphrase of the vault)',
    ),
    ...foundIf(hasFailed || vaultTroubles.includes(state), 'vault.trouble', what, hint),
    ...foundIf(
      !hasFailed && vaultLocks.includes(state),
      'vault.locked',
      what,
      vaultSource ? hint : 'keyturn unlock',
    ),
  ];
}

function recordFindings({ homeState, unreadable, audit, log, clocks, proxies }: Status): Finding[] {
  const { why = '' } = homeState;
  return [
    ...foundIf(
      homeState.state === 'mismatched',
      'home.mismatch',
      why,
      'keyturn status   (it says which file; put its newest copy back)',
    ),
    ...unreadable.flatMap(({ why: what, hint = 'It was left as it is. Put its newest copy back.' }) =>
      found('records.unreadable', what, hint),
    ),
    ...(audit ? found('audit.failing', waitingRows(audit), audit.hint ?? 'keyturn status') : []),
    ...foundIf(
      !log.ok,
      'log.failing',
      `The log ${log.file ?? ''} can't be written.`,
      'Make room on its disk, or fix its mode (0600).',
    ),
    ...closedProxies(proxies).flatMap(({ what, fix }) => found('proxy.closed', `The proxy ${what}.`, fix)),
    ...clocks.flatMap(({ issuer, ahead }) =>
      found(
        'clock.server',
        `${issuer} is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine.`,
        'Set the clock of this machine, or tell the operator of that server.',
      ),
    ),
  ];
}

/** Records the value as the user's own. A URL's password is shown to nobody, so the user types such a value. */
function setCommand({ name, value }: Status['homeState']['differing'][number]): string {
  if (value === undefined) return `keyturn settings unset ${shellWord(name)}`;
  const text = String(value);
  return `keyturn settings set ${shellWord(name)} ${shellWord(/:\*+@/.test(text) ? 'VALUE' : text)}`;
}

function ruleFindings(status: Status): Finding[] {
  const { homeState, pause, unshielded } = status;
  const answer = 'keyturn request list   (the request waits in the window)';
  return [
    ...(pause ? found('access.paused', `You paused all access ${pauseEnd(pause)}.`, 'keyturn resume') : []),
    ...foundIf(
      homeState.isWaiting && homeState.differing.length === 0,
      'settings.waiting',
      'This home was used without the Keyturn app. What it allows waits for you to keep or remove it.',
      answer,
    ),
    ...homeState.differing.flatMap((setting) =>
      found(
        'settings.waiting',
        `${setting.isContent ? 'The file of ' : ''}${setting.name} was changed outside of Keyturn.`,
        homeState.isWaiting ? answer : `${setCommand(setting)}   (if the change is yours)`,
      ),
    ),
    ...foundIf(
      homeState.approver === 'appClosed',
      'app.closed',
      'The Keyturn app isn’t running: apps keep their access, and no new access is granted.',
      'Start the app.',
    ),
    ...waived(status),
    ...unshielded.flatMap((fact) =>
      found(
        'process.unshielded',
        fact,
        "Keyturn can't fix this. docs/security/README.md says what it means.",
      ),
    ),
  ];
}

function waived({ exceptions, insecureLoopback }: Status): Finding[] {
  const servers = exceptions.map(({ server, names }) => `${server} (${names.join(', ')})`);
  const all = [...servers, ...(insecureLoopback ? ['http on loopback hosts'] : [])];
  const fix =
    servers.length > 0
      ? 'keyturn exception remove SERVER RULE'
      : 'keyturn settings set insecureLoopback false';
  return foundIf(all.length > 0, 'exceptions.set', `Exceptions: ${all.join('; ')}.`, fix);
}
