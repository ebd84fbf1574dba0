/**
 * A home whose broker is killed under refresh load, again and again, and the judge of what that cost.
 *
 * Invariant: the judge asks the authorization server's store, never the broker, what a refresh token is worth. A sign-in
 * is *lost* if no token can be had although the server honours the vault's, or if the broker can't say why not. An
 * answer is *lost in flight* if the server replaced the token and the vault has not the new one: `explain` must say
 * exactly that.
 */
import { signInItems } from './named-items.ts';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { chances } from '../chances.ts';
import { connect } from '../../../src/client/connect.ts';
import type { Connection } from '../../../src/client/connection.ts';
import { reasonOf } from '../../../src/base/errors.ts';
import type { TokenResult } from '../../../src/ipc/wire/token-messages.ts';
import type { MethodName, ParamsOf, ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { openVault } from '../../../src/vault/open.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { TestHome, until } from '../home.ts';
import { paired } from '../processes/program.ts';
import { askBroker } from './ask-broker.ts';
import { killBroker, signIn, startBroker } from './owner-acts.ts';
import type { TestWorld } from '../world.ts';

export const accounts = ['a', 'b', 'c'] as const;
const programs = ['editor', 'agent'];
const all = { programs, accounts };

/** Milliseconds between two requests of a program: room for the others on a machine with two cores. */
const pause = 25;

export class CrashHome {
  /** What became of everything, over all kills of a run. */
  readonly numbers = {
    signInsKept: 0,
    answersLost: 0,
    signInsLost: 0,
    /** What was seen of each of these. */
    losses: [] as object[],
    filesUnreadable: 0,
  };
  readonly home: TestHome;
  readonly #world: TestWorld;
  readonly #resource: string;
  /** Where the tokens are; the root key is in the keychain. */
  readonly #items: 'keychain' | 'folder';
  #vault: Vault | undefined;

  constructor(world: TestWorld, items: 'keychain' | 'folder' = 'keychain') {
    this.#world = world;
    this.#resource = world.protectedServer.resource;
    this.#items = items;
    const folder = { KEYTURN_VAULT: 'sealed-file', KEYTURN_VAULT_KEY: 'keychain' };
    const env = { KEYTURN_DEBUG: '1', ...(items === 'folder' ? folder : {}) };
    this.home = new TestHome({ world, vault: 'keychain', env });
  }

  /** Starts the broker, pairs the programs and signs in with the accounts. */
  async open(load: { readonly programs: readonly string[]; readonly accounts: readonly string[] } = all) {
    await this.start();
    for (const name of load.programs) await paired(this.home, name);
    for (const account of load.accounts) await this.signIn(account);
    for (const client of ['cli', ...load.programs]) {
      for (const account of load.accounts) {
        await this.ask('permission.set', {
          app: client,
          resource: this.#resource,
          account,
          decision: 'allow',
        });
      }
    }
    const { homeId } = this.home;
    const service = `keyturn/${homeId}`;
    const kind = this.#items === 'folder' ? 'sealed-file' : 'keychain';
    const sealed = { folder: path.join(this.home.paths.state, 'items'), key: 'keychain' } as const;
    this.#vault = openVault(kind, { service, homeId, sealed, hadRoot: async () => true }).vault;
  }

  async start(): Promise<void> {
    await startBroker(this.home);
  }

  ask<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    return askBroker(this.home, method, params);
  }

  async signIn(account: string): Promise<void> {
    await signIn(this.home, this.#resource, { account, timeout: 60 });
  }

  /** A token for the command line. */
  async token(account: string): Promise<TokenResult> {
    const params = { resource: this.#resource, account, interaction: 'never', timeout: 30 } as const;
    const answer = await this.ask('token.get', params);
    if ('kind' in answer) throw new Error('an API key, and nobody asked for one');
    return answer;
  }

  /** Makes the broker refresh for the command line, also where it has a token in memory. */
  async refresh(account: string): Promise<void> {
    const { access_token } = await this.token(account);
    await this.ask('token.reject', { access_token, status: 401 });
    await this.token(account);
  }

  /** All programs ask for all accounts, as fast as they are answered, until the broker is gone. */
  async load(): Promise<() => Promise<void>> {
    const connections = await Promise.all(programs.map((name) => connect({ name, env: this.home.env })));
    const work = connections.flatMap((connection) =>
      accounts.map((account) => this.#askOn(connection, account)),
    );
    return async () => {
      // The broker is gone: nobody here waits for the next one.
      for (const connection of connections) connection.close();
      await Promise.all(work);
    };
  }

  async #askOn(connection: Connection, account: string): Promise<void> {
    for (;;) {
      try {
        await connection.getToken({ resource: this.#resource, account, interaction: 'never' });
      } catch (error) {
        // The connection broke with the broker; a refusal is the judge's to notice.
        if (['broker_unreachable', 'interrupted', 'frame_invalid'].includes(reasonOf(error))) return;
      }
      await sleep(pause);
    }
  }

  /** No order, no last write: the process is gone. */
  async kill(): Promise<void> {
    await killBroker(this.home);
  }

  /** Whether the server would take what the vault holds, by account. The broker must not run. */
  async honoured(signIns: ResultOf<'signIn.list'>['signIns']): Promise<Map<string, boolean>> {
    // A request that arrived is served though its client is gone. One that is still in the kernel's hands arrives yet.
    const { server } = this.#world.authorizationServer;
    for (let turn = 0; turn < 2; turn += 1) {
      await sleep(50);
      await until('the server is done', () => !server.isBusy());
    }
    const honoured = new Map<string, boolean>();
    const items = signInItems(this.home.paths.state);
    for (const { id, account = '' } of signIns) {
      const item = z.object({ refreshToken: z.string() });
      const { refreshToken } = item.parse(JSON.parse((await this.#vault?.get(items.get(id) ?? '')) ?? ''));
      honoured.set(account, this.#world.authorizationServer.honours(refreshToken));
    }
    return honoured;
  }

  /** Starts again after a kill and asks for every sign-in; counts what that shows. */
  async judge(honoured: ReadonlyMap<string, boolean>): Promise<void> {
    await this.start();
    const { unreadable } = await this.ask('status', {});
    this.numbers.filesUnreadable += unreadable.length;
    for (const [account, isHonoured] of honoured) await this.#judgeSignIn(account, isHonoured);
  }

  async #judgeSignIn(account: string, isHonoured: boolean): Promise<void> {
    const before = isHonoured ? undefined : await this.explain(account);
    const reason = await this.token(account).then(() => 'ok', reasonOf);
    const after = await this.explain(account);
    if (reason === 'ok' && after.lostRefresh === undefined) {
      this.numbers.signInsKept += 1;
      return;
    }
    const lostAnswer = 'the provider may have replaced the token and its answer may be lost';
    // The next refresh is shown in place of the one that was cut off while it is under way, and once it is over.
    const isTold =
      (before?.refresh?.by === 'underWay' ||
        before?.now.includes(lostAnswer) === true ||
        before?.lostRefresh?.startsWith('Keyturn stopped during the refresh of ') === true) &&
      after.now.includes(lostAnswer);
    if (!isHonoured && reason === 'login_required' && isTold) this.numbers.answersLost += 1;
    else this.#lost({ isHonoured, reason, before, after });
    await this.signIn(account);
  }

  #lost(seen: object): void {
    this.numbers.signInsLost += 1;
    this.numbers.losses.push(seen);
  }

  /** With the vault open: it knows of a refresh that was cut off. */
  async explain(account: string): Promise<ResultOf<'signIn.show'>['signIns'][number]> {
    await this.ask('vault.unlock', {});
    const { signIns } = await this.ask('signIn.show', { resource: this.#resource, account });
    const [explanation] = signIns;
    if (!explanation) throw new Error(`there is no sign-in of ${account}`);
    return explanation;
  }

  async signIns(): Promise<ResultOf<'signIn.list'>['signIns']> {
    return (await this.ask('signIn.list', {})).signIns;
  }

  async close(): Promise<void> {
    await this.#vault?.close();
    await this.home.close();
  }
}

/** Milliseconds from the start of the load to the kill, at most: less than a token lives. */
const maxLoad = 250;

/** Milliseconds that the answer to a refresh is under way, at most, so that kills fall into some. */
const maxHold = 60;

/** What a run of kills does to a home of its own. */
export async function crashRun(
  world: TestWorld,
  run: { readonly kills: number; readonly seed: number },
  items: 'keychain' | 'folder' = 'keychain',
) {
  const crash = new CrashHome(world, items);
  try {
    await crash.open();
    await killUnderLoad(world, crash, run);
    return crash.numbers;
  } finally {
    await crash.close();
  }
}

/** Kills the broker so often, at moments that `seed` decides as far as a machine lets it. */
async function killUnderLoad(
  world: TestWorld,
  crash: CrashHome,
  { kills, seed }: Parameters<typeof crashRun>[1],
): Promise<void> {
  const chance = chances(seed);
  world.authorizationServer.setTokenGate(() => ({ answerAfter: sleep(maxHold * chance()) }));
  for (let kill = 0; kill < kills; kill += 1) {
    const signIns = await crash.signIns();
    const ended = await crash.load();
    await sleep(maxLoad * chance());
    await crash.kill();
    await ended();
    await crash.judge(await crash.honoured(signIns));
  }
}
