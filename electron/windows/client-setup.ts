/**
 * Connects the clients on this machine from a window: what `keyturn setup` does, without a terminal.
 *
 * Invariants: a window names entries of the last look by their ids, and never a file, a command or a value; keys that
 * were found stay in this process. A file that changed since that look is left as it is.
 */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { KeyturnError } from '../../src/base/errors.ts';
import { applySetup } from '../../src/setup/apply.ts';
import { backupsIn, type AskOwner, type SetupHome } from '../../src/setup/backup.ts';
import { installedCommand } from '../../src/setup/own-command.ts';
import type { Finding } from '../../src/setup/plan.ts';
import { leaveOpenServers, type NetworkFor } from '../../src/setup/open-servers.ts';
import { leaveOtherApiKeys } from '../../src/setup/other-api-keys.ts';
import { isSwitch, survey, type SurveyedConfig } from '../../src/setup/survey.ts';
import { openedBackups, undoneLine, undoSetup } from '../../src/setup/undo.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import type { ParamsOn, ResultOn } from '../bridge/channels.ts';

export interface ClientSetupParts {
  /** The app's. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The `keyturn` that the app brings along. */
  readonly brought?: string | undefined;
  /** Of the home, absolute. */
  readonly stateFolder: string;
  readonly owner: Pick<InProcessOwner, 'call'>;
  /** The broker's. */
  readonly network: NetworkFor;
}

/** What the last look found, and which of it a window may name. */
interface Look {
  readonly id: string;
  readonly files: readonly SurveyedConfig[];
  readonly ids: ReadonlyMap<Finding, string>;
}

export class ClientSetup {
  readonly #parts: ClientSetupParts;
  readonly #home: SetupHome;
  #last: Look | undefined;

  constructor(parts: ClientSetupParts) {
    this.#parts = parts;
    const { stateFolder, owner } = parts;
    // The schema looked up by the method's name parses to that method's answer; the compiler can't follow the lookup.
    const ask = (async (method: keyof typeof methods & Parameters<AskOwner>[0], params: unknown) =>
      methods[method].result.parse(await owner.call(method, params))) as AskOwner;
    this.#home = { stateFolder, ask };
  }

  /** What is in the clients' files now. Throws what the system refuses. */
  async look(): Promise<ResultOn<'setup.look'>> {
    const { env, brought, network } = this.#parts;
    const home = env['HOME'] ?? homedir();
    const command = installedCommand(env, home, brought);
    const runs = await backupsIn(this.#home.stateFolder);
    const common = { look: randomUUID(), runs: runs.length };
    if (!command) return { ...common, clients: [] };
    const surveyed = await survey({ home, own: command, withVersioned: false });
    const files = await leaveOtherApiKeys(await leaveOpenServers(surveyed, network));
    const ids = new Map(files.flatMap(({ findings }) => findings).map((finding) => [finding, randomUUID()]));
    this.#last = { id: common.look, files, ids };
    const clients = files.map(({ config: { title, file }, findings, left }) => ({
      title,
      file,
      ...(left === undefined ? {} : { left }),
      entries: findings.map((finding) => shown(finding, ids.get(finding) ?? '')),
    }));
    return { ...common, command: command.words.join(' '), clients };
  }

  /** Changes these entries. Throws `invalid_request` where there was another look since. */
  async apply({ look, entries }: ParamsOn<'setup.apply'>): Promise<ResultOn<'setup.apply'>> {
    const last = this.#last;
    if (last?.id !== look) throw lookedAgain();
    // A look counts for one change: afterwards the files say something else.
    this.#last = undefined;
    const isChosen = (finding: Finding): boolean =>
      isSwitch(finding) && entries.includes(last.ids.get(finding) ?? '');
    const files = last.files.map((file) => ({ ...file, findings: file.findings.filter(isChosen) }));
    return { results: [...(await applySetup(files, this.#home))] };
  }

  async undo(): Promise<ResultOn<'setup.undo'>> {
    const { files, keys } = await undoSetup(await openedBackups(this.#home));
    return { lines: files.map(undoneLine), keys: [...keys] };
  }
}

function shown(finding: Finding, id: string): ResultOn<'setup.look'>['clients'][number]['entries'][number] {
  const { entry: name } = finding;
  if (finding.kind === 'bridge') return { id, name, kind: 'bridge', exposed: [] };
  if (finding.kind === 'left')
    return { id, name, kind: 'left', why: finding.why, exposed: [...finding.exposed] };
  const { endpoint, key, shown: change } = finding;
  return { id, name, kind: 'switch', endpoint, change: [...change], exposed: key ? [key.header] : [] };
}

function lookedAgain(): KeyturnError {
  return new KeyturnError('invalid_request', 'The list of apps is no longer the newest one.', {
    hint: 'Look at the list again, then press once more.',
  });
}
