/**
 * What the broker that runs says of itself. Starts none: where none runs, that is all there is to say.
 *
 * Invariant: works with a locked vault, and with a broker of another version. Nothing is changed.
 */
import { KeyturnError, shellOption, shellWord } from '../../base/errors.ts';
import type { HomePaths } from '../../base/paths.ts';
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import { displayName } from '../broker/desktop-session.ts';
import { pauseEnd } from '../terminal/output.ts';
import { connectSoon, keyLost } from '../broker/lost-socket.ts';
import { lockHolder } from '../../daemon/home/lock-holder.ts';
import { isAbsent } from '../broker/no-broker.ts';
import { call } from '../broker/request.ts';
import { waitingRows } from '../words/audit-rows.ts';
import { difference, mend as newVersion } from '../broker/versions.ts';
import { type Finding, type FindingKind, findingOf } from './finding.ts';

export type Status = Awaited<ReturnType<typeof call<'status'>>>;
type VaultState = Status['vaultState']['state'];
type OAuthClient = Awaited<ReturnType<typeof call<'oauthClient.list'>>>['oauthClients'][number];

export interface BrokerLook {
  readonly findings: readonly Finding[];
  readonly status: Status | undefined;
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
      return { status: undefined, findings: [isAbsent(error) ? absence(paths) : strangeness(error)] };
  }
  try {
    return await ask(connection);
  } finally {
    connection.close();
  }
}

function absence(paths: HomePaths): Finding {
  const pid = lockHolder(paths.state);
  if (pid === undefined)
    return {
      kind: 'broker.absent',
      what: 'No broker runs for this home.',
      mend: 'Nothing to do: the next command that needs one starts it (keyturn sign-in list).',
    };
  const lost = keyLost(paths);
  if (lost) return findingOf('home.damaged', lost);
  return {
    kind: 'broker.silent',
    what: `A broker (pid ${pid}) holds this home, and does not answer on its socket.`,
    mend: 'keyturn sign-in list   (it has that broker listen again; if that fails: keyturn broker restart)',
  };
}

/** The check of the disk reports modes already. */
function strangeness(error: unknown): Finding {
  return findingOf('broker.unproven', error);
}

async function ask(connection: Connection): Promise<BrokerLook> {
  const sentence = difference(connection);
  const versions: Finding[] =
    sentence === undefined ? [] : [{ kind: 'versions.differ', what: sentence, mend: newVersion }];
  try {
    const status = await call(connection, 'status', {});
    const registered = await registrations(connection);
    const elsewhere = connection.capabilities.includes(appCapability) ? [] : displayFindings(status);
    return { status, findings: [...versions, ...statusFindings(status), ...registered, ...elsewhere] };
  } catch (error) {
    const more = versions.length > 0 ? [] : [strangeness(error)];
    return { status: undefined, findings: [...versions, ...more] };
  }
}

/** A broker without a window knows of the desktop only what the user's commands tell it. */
function displayFindings({ display }: Status): Finding[] {
  const here = displayName(process.env);
  if (here === undefined || here === display) return [];
  return [
    {
      kind: 'desktop.other',
      what: `The broker opens sign-in pages ${display === undefined ? 'nowhere: it has no desktop session' : `at ${display}`}, and this terminal is at ${here}.`,
      mend: 'Nothing to do: with the next command from here, e.g. keyturn sign-in list, its pages open here.',
    },
  ];
}

/** Files that can't be read are in `status` already. */
async function registrations(connection: Connection): Promise<Finding[]> {
  try {
    const { oauthClients: all } = await call(connection, 'oauthClient.list', {});
    return all.flatMap(registrationFinding);
  } catch (error) {
    if (error instanceof KeyturnError) return [];
    throw error;
  }
}

function registrationFinding({ issuer, clientId, state, source }: OAuthClient): Finding[] {
  const remove = `keyturn oauth-client remove ${shellWord(issuer)} ${shellOption('client-id', clientId)}`;
  if (state === 'replaced') {
    const what = `The client ${clientId} at ${issuer} is not used any more.`;
    return [{ kind: 'oauthClient.replaced', what, mend: remove }];
  }
  if (state !== 'rejected') return [];
  return [
    {
      kind: 'oauthClient.rejected',
      what: `${issuer} no longer accepts the client ${clientId}.`,
      mend:
        source === 'preregistered'
          ? `keyturn oauth-client add ${shellWord(issuer)} --client-id ID   (a new one, which its operator gives you)`
          : 'keyturn login URL --new-client',
    },
  ];
}

/** States of the vault that need somebody; the others pass or are fine. */
const vaultTroubles: ReadonlySet<string> = new Set([
  'absent',
  'crashed',
  'full',
  'damaged',
] satisfies VaultState[]);
const vaultLocks: ReadonlySet<string> = new Set([
  'locked',
  'keychainLocked',
  'waiting',
] satisfies VaultState[]);

function statusFindings(status: Status): Finding[] {
  return [...vaultFindings(status), ...recordFindings(status), ...ruleFindings(status)];
}

function vaultFindings({ vaultSource, vaultState }: Status): Finding[] {
  const { state, what = `The vault is ${state}.`, hint = 'keyturn unlock' } = vaultState;
  return [
    ...found(vaultTroubles.has(state), 'vault.trouble', what, hint),
    ...found(vaultLocks.has(state), 'vault.locked', what, vaultSource ? hint : 'keyturn unlock'),
  ];
}

function recordFindings({ homeState, unreadable, audit, log, clocks }: Status): Finding[] {
  const { why = '' } = homeState;
  return [
    ...found(
      homeState.state === 'mismatched',
      'home.mismatch',
      why,
      'keyturn status   (it says which file; put its newest copy back)',
    ),
    ...unreadable.map((one) => ({
      kind: 'records.unreadable' as const,
      what: one.why,
      mend: one.hint ?? 'It was left as it is. Put its newest copy back.',
    })),
    ...(audit
      ? [{ kind: 'audit.failing' as const, what: waitingRows(audit), mend: audit.hint ?? 'keyturn status' }]
      : []),
    ...found(
      !log.ok,
      'log.failing',
      `The log ${log.file ?? ''} can't be written.`,
      'Make room on its disk, or fix its mode (0600).',
    ),
    ...clocks.map(({ issuer, ahead }) => ({
      kind: 'clock.server' as const,
      what: `${issuer} is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine.`,
      mend: 'timedatectl set-ntp true   (or tell the operator of that server)',
    })),
  ];
}

function ruleFindings(status: Status): Finding[] {
  const { homeState, pause, unshielded } = status;
  const names = homeState.differing.map(({ name }) => name).join(', ');
  return [
    ...(pause
      ? [
          {
            kind: 'access.paused' as const,
            what: `You paused all access ${pauseEnd(pause)}.`,
            mend: 'keyturn resume',
          },
        ]
      : []),
    ...found(
      homeState.isWaiting || names !== '',
      'settings.waiting',
      `Changed outside of Keyturn: ${names}.`,
      homeState.isWaiting ? 'keyturn request list   (the request waits in the window)' : 'keyturn settings',
    ),
    ...found(
      homeState.approver === 'appClosed',
      'app.closed',
      'The Keyturn app isn’t running: apps keep their access, and no new access is granted.',
      'Start the app.',
    ),
    ...waived(status),
    ...unshielded.map((fact) => ({
      kind: 'process.unshielded' as const,
      what: fact,
      mend: "Keyturn can't fix this. docs/security/README.md says what it means.",
    })),
  ];
}

function waived({ exceptions, insecureLoopback }: Status): Finding[] {
  const servers = exceptions.map(({ server, names }) => `${server} (${names.join(', ')})`);
  const all = [...servers, ...(insecureLoopback ? ['http on loopback hosts'] : [])];
  const mend =
    servers.length > 0
      ? 'keyturn exception remove SERVER RULE'
      : 'keyturn settings set insecureLoopback false';
  return found(all.length > 0, 'exceptions.set', `Exceptions: ${all.join('; ')}.`, mend);
}

function found(isSo: boolean, kind: FindingKind, what: string, mend: string): Finding[] {
  return isSo ? [{ kind, what, mend }] : [];
}
