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
import { backupsIn } from '../../src/setup/backup.ts';
import { installedCommand } from '../../src/setup/own-command.ts';
import type { Finding } from '../../src/setup/plan.ts';
import { leaveOpenServers, type NetworkFor } from '../../src/setup/open-servers.ts';
import type { AskOwner, SetupHome } from '../../src/setup/backup.ts';
import { isSwitch, survey, type SurveyedConfig } from '../../src/setup/survey.ts';
import { undoneLine, undoSetup } from '../../src/setup/undo.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import type { ResultOn } from '../bridge/channels.ts';

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
  readonly #env: ClientSetupParts['env'];
  readonly #brought: string | undefined;
  readonly #home: SetupHome;
  readonly #network: NetworkFor;
  #last: Look | undefined;

  constructor({ env, brought, stateFolder, owner, network }: ClientSetupParts) {
    this.#network = network;
    this.#env = env;
    this.#brought = brought;
    // The schema looked up by the method's name parses to that method's answer; the compiler can't follow the lookup.
    const ask = (async (method: keyof typeof methods & Parameters<AskOwner>[0], params: unknown) =>
      methods[method].result.parse(await owner.call(method, params))) as AskOwner;
    this.#home = { stateFolder, ask };
  }

  /** What is in the clients' files now. Throws what the system refuses. */
  async look(): Promise<ResultOn<'setup.look'>> {
    const home = this.#env['HOME'] ?? homedir();
    const command = installedCommand(this.#env, home, this.#brought);
    const runs = await backupsIn(this.#home.stateFolder);
    const common = { look: randomUUID(), runs: runs.length };
    if (!command) return { ...common, clients: [] };
    const files = await leaveOpenServers(
      await survey({ home, own: command, withVersioned: false }),
      this.#network,
    );
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
  async apply({
    look,
    entries,
  }: {
    readonly look: string;
    readonly entries: readonly string[];
  }): Promise<ResultOn<'setup.apply'>> {
    const last = this.#last;
    if (last?.id !== look) throw lookedAgain();
    // A look counts for one change: afterwards the files say something else.
    this.#last = undefined;
    const chosen = new Set(entries);
    const files = last.files.map((file) => ({
      ...file,
      findings: file.findings.filter(
        (finding) => isSwitch(finding) && chosen.has(last.ids.get(finding) ?? ''),
      ),
    }));
    return { results: [...(await applySetup(files, this.#home))] };
  }

  async undo(): Promise<ResultOn<'setup.undo'>> {
    const { files, keys } = await undoSetup(this.#home);
    return { lines: files.map(undoneLine), keys: [...keys] };
  }
}

function shown(finding: Finding, id: string): ResultOn<'setup.look'>['clients'][number]['entries'][number] {
  const { entry: name } = finding;
  if (finding.kind === 'bridge') return { id, name, kind: 'bridge', exposed: [] };
  if (finding.kind === 'left')
    return { id, name, kind: 'left', why: finding.why, exposed: [...finding.exposed] };
  const { endpoint, key } = finding;
  return {
    id,
    name,
    kind: 'switch',
    endpoint,
    change: [...finding.shown],
    exposed: key ? [key.header] : [],
  };
}

function lookedAgain(): KeyturnError {
  return new KeyturnError('invalid_request', 'The list of apps is no longer the newest one.', {
    hint: 'Look at the list again, then press once more.',
  });
}
