/**
 * A home in a temporary folder, with its broker.
 *
 * Invariant: the broker runs from the build, and nothing of it is left after its scope (`await using`).
 */
import type { SpawnChild } from '../src/base/system/child.ts';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { signInAt } from '../demo/user-agent.ts';
import { homePaths } from '../src/base/paths.ts';
import type { SignIn } from '../src/broker/records/sign-in.ts';
import { nodeFlags } from '../src/cli/broker/auto-start.ts';
import { connectAsOwner } from '../src/client/connect.ts';
import type { Connection } from '../src/client/connection.ts';
import { connect, pair } from '../src/client/index.ts';
import { homeRecords } from '../src/daemon/home/home-record.ts';
import { readPlace } from '../src/store/home-document.ts';
import { newItemName } from '../src/store/unused-items.ts';
import type { Vault, VaultKind } from '../src/vault/base/vault.ts';
import { ItemVault } from '../src/vault/item-vault.ts';
import { keychainStore } from '../src/vault/keychain/keychain.ts';
import { forkWorker } from '../src/vault/keychain/keychain-process.ts';
import { PassphraseStore } from '../src/vault/sealed/passphrase-store.ts';
import { browserHere } from '../test/support/browsers/browser-here.ts';
import { bin, ended, started } from './process.ts';

const passphrase = 'correct horse battery staple';

/** The least that a root file may ask for: the time to open it is not what is measured. */
const cost = { N: 2 ** 14, r: 1, p: 1 };

const Pending = z.object({ requests: z.array(z.object({ id: z.string() })) });

export class Home {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'kb-'));
  readonly env: Record<string, string>;
  readonly #kind: VaultKind;
  readonly #browser;
  #broker: ChildProcess | undefined;

  /** `ca`: PEM text of the authority that it trusts. `env`: further variables of its processes. */
  constructor(ca: string, kind: VaultKind = 'memory', env: Readonly<Record<string, string>> = {}) {
    const [caFile, keyFile] = [path.join(this.folder, 'ca.pem'), path.join(this.folder, 'key')];
    writeFileSync(caFile, ca);
    writeFileSync(keyFile, passphrase, { mode: 0o600 });
    this.#kind = kind;
    this.#browser = browserHere(path.join(this.folder, 'tabs'), async (url) =>
      signInAt(url, { account: 'alice', ca }),
    );
    this.env = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.folder,
      KEYTURN_HOME: path.join(this.folder, 'home'),
      KEYTURN_VAULT: kind,
      ...(kind === 'sealed-file' ? { KEYTURN_VAULT_KEY: `file:${keyFile}` } : {}),
      NODE_EXTRA_CA_CERTS: caFile,
      KEYTURN_BROWSER: this.#browser.command(),
      ...env,
    };
  }

  get pid(): number {
    return this.#broker?.pid ?? 0;
  }

  /** As a command starts it that finds none. */
  async startBroker(): Promise<void> {
    const args = [...nodeFlags, bin, 'broker', 'run', '--auto-started'];
    this.#broker = (await started(process.execPath, args, this.env)).child;
  }

  async endBroker(): Promise<void> {
    if (this.#broker) await ended(this.#broker);
  }

  /** As the program `bench`. */
  async connection(): Promise<Connection> {
    return connect({ name: 'bench', env: this.env });
  }

  /** Starts the broker, pairs the program `bench`, and signs in. */
  async prepare(resources: readonly string[]): Promise<void> {
    await this.startBroker();
    const pairing = pair({ name: 'bench', env: this.env, onCode: () => undefined });
    const owner = await this.owner();
    let cards: readonly { id: string }[] = [];
    while (cards.length === 0) {
      await sleep(50);
      cards = Pending.parse(await owner.request('request.list')).requests;
    }
    await owner.request('request.answer', { id: cards[0]?.id, answer: 'approve' });
    owner.close();
    await pairing;
    await this.signIn(resources);
  }

  /** Signs in to these resources, and allows them. */
  async signIn(resources: readonly string[]): Promise<void> {
    const owner = await this.owner();
    for (const resource of resources) await owner.request('signIn.start', { resource, method: 'browser' });
    owner.close();
    await this.allow(resources);
  }

  /** For `bench`, and for `keyturn token`. */
  async allow(resources: readonly string[]): Promise<void> {
    const owner = await this.owner();
    for (const resource of resources)
      for (const app of ['bench', 'cli'])
        await owner.request('permission.set', { app, resource, decision: 'allow' });
    owner.close();
  }

  async owner(): Promise<Connection> {
    return connectAsOwner({ env: this.env });
  }

  /** Copies the first sign-in for these resources: its record and its item in the vault, as after a sign-in. No broker may run. */
  async copySignIn(resources: readonly string[]): Promise<void> {
    const folder = homePaths(this.env).state;
    const place = await readPlace(folder);
    if (!place) throw new Error('the home has no document');
    await this.#withVault(place.home, async (vault) => {
      const { document, signIns } = homeRecords({ folder, place, vault, root: () => vault.root() });
      await document.verify();
      const [first] = signIns.items;
      if (first?.item === undefined) throw new Error('the home has no sign-in');
      const item = await vault.get(first.item);
      const copies = resources.map((resource): SignIn => {
        const id = randomBytes(8).toString('hex');
        return { ...first, id, endpoints: [resource], resource, item: newItemName('s'), earlier: [] };
      });
      for (const copy of copies) await vault.set(copy.item ?? '', item);
      await signIns.change((items) => [...items, ...copies]);
    });
  }

  async #withVault(homeId: string, work: (vault: Vault) => Promise<unknown>): Promise<void> {
    const { state } = homePaths(this.env);
    const home = { homeId, hadRoot: async () => true };
    if (this.#kind === 'keychain') {
      const spawnWorker: SpawnChild = () => forkWorker({ ...process.env, ...this.env });
      const store = keychainStore({ service: `keyturn/${homeId}`, spawnWorker });
      const vault = new ItemVault({ kind: this.#kind, store, ...home });
      await work(vault);
      return vault.close();
    }
    const store = new PassphraseStore({ folder: path.join(state, 'items'), cost, ...home });
    const vault = new ItemVault({ kind: 'sealed-file', store, ...home });
    await store.unlock(passphrase);
    await work(vault);
    await store.changePassphrase(passphrase, passphrase);
    return vault.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endBroker();
    await this.#browser.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
