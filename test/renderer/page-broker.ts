/**
 * A user's desk for the windows' page: a real broker over its socket, real servers to sign in at, and
 * programs that pair and ask.
 *
 * Invariant: the page's calls go the way they go in the app (electron/windows/, then the owner's methods), and everything that crosses is kept, for tests that look for what must not.
 */
import { examplePreferences } from '../support/homes/example-desk.ts';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { answerCall } from '../../electron/windows/ipc.ts';
import { channelHandlers, type HandlerParts } from '../../electron/windows/channel-handlers.ts';
import type { AppWindow } from '../../electron/windows/windows.ts';
import { ClientSetup } from '../../electron/windows/client-setup.ts';
import { connect, connectAsOwner } from '../../src/client/connect.ts';
import type { Connection } from '../../src/client/connection.ts';
import { pair } from '../../src/client/pair.ts';
import { exportAudit } from '../../src/audit/audit-export.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { terminalLog } from '../../src/daemon/system/log.ts';
import { homePaths } from '../../src/base/paths.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openWorld } from '../support/world.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';

export async function startPageBroker() {
  const world = await openWorld();
  const folder = temporaryFolder();
  const env = { KEYTURN_HOME: folder, KEYTURN_VAULT: 'memory', NODE_EXTRA_CA_CERTS: world.caFile };
  const paths = homePaths(env);
  const at = { env, paths };
  /** False: nobody signs in at the pages that open. */
  const state = { person: true };
  const visits: Promise<unknown>[] = [];
  const daemon = await startDaemon({
    ...at,
    autoStarted: false,
    log: terminalLog(() => undefined),
    shield: () => Promise.resolve([]),
    openBrowser: async (url) => {
      if (state.person) visits.push(world.signIn(url).catch(() => undefined));
    },
  });
  const owner = await connectAsOwner(at);
  const programs: Connection[] = [];
  onTestFinished(async () => {
    for (const connection of [owner, ...programs]) connection.close();
    await daemon.stop();
    await Promise.allSettled(visits);
    await world.close();
  });
  const person = path.join(folder, 'person');
  mkdirSync(person);
  const clientSetup = new ClientSetup({
    env: { HOME: person, PATH: path.join(person, 'bin') },
    stateFolder: paths.state,
    owner: { call: (method, params) => owner.request(method, params as object) },
    network: (endpoint) => ({
      fetch: () => Promise.reject(new Error(`${endpoint} is not reached here`)),
      now: Date.now,
      wall: Date.now,
      allowInsecureLoopback: false,
    }),
  });
  const preferences = { ...examplePreferences, openAtLogin: false };
  const screenLock = { state: preferences.screenLock };
  const shownCards: string[] = [];
  const openedPages: string[] = [];
  const asked: string[] = [];
  const answered: string[] = [];
  const handler = handlerOver(owner, {
    clientSetup,
    preferences: {
      choices: () => preferences,
      choose: (chosen: object) => Object.assign(preferences, chosen),
    },
    loginItem: {
      isOn: async () => preferences.openAtLogin,
      set: async (isOn: boolean) => void (preferences.openAtLogin = isOn),
    },
    screenLock,
    exportAudit: () => exportAudit(paths.state, async () => undefined, 'csv'),
    shown: (ids) => shownCards.push(...ids),
    opens: (id) => openedPages.push(id),
  });
  const pairing = async (name: string, onCode: (code: string) => void): Promise<Connection> => {
    await pair({ ...at, name, onCode });
    const connection = await connect({ ...at, name });
    programs.push(connection);
    return connection;
  };
  return Object.assign(state, {
    world,
    daemon,
    owner,
    /** The user's home folder, in which the clients keep their files. Nothing is in it. */
    personHome: person,
    /** What the main process keeps for itself. */
    preferences,
    screenLock,
    /** Ids of the questions whose card was on the screen. */
    shownCards,
    /** Ids of the sign-ins whose page the user had opened. */
    openedPages,
    /** Everything that crossed, as JSON: what the page asked, noted as it came, and what it was answered. */
    asked,
    answered,
    /** Waits for the user's word; `onCode` gets the six digits. */
    pairing,
    resource: world.protectedServer.resource,
    answer: async (channel: unknown, params: unknown) => {
      asked.push(JSON.stringify([channel, params]));
      const envelope = await answerCall(handler, channel, params);
      answered.push(JSON.stringify(envelope));
      return envelope;
    },
    /** A program that was paired and answered without a window. */
    program: async (name: string) => {
      const paired = pairing(name, () => undefined);
      const id = await questionId(owner, 'pair');
      await owner.request('request.answer', { id, answer: 'approve' });
      return paired;
    },
    /** Every token that the servers handed to this broker so far. */
    secrets: async (handedOut: readonly string[]) => {
      const { signIns, vault } = daemon.broker.parts;
      const kept: string[] = [];
      for (const { item = '' } of signIns.all()) kept.push((await getIfAny(vault, item)) ?? '');
      const tokens = kept.flatMap((text) => text.match(/[A-Za-z0-9_-]{40,}/g) ?? []);
      return [...new Set([...handedOut, ...tokens])];
    },
  });
}

export type PageBroker = Awaited<ReturnType<typeof startPageBroker>>;

interface Parts extends Partial<Record<keyof HandlerParts, unknown>> {
  readonly shown?: (ids: readonly string[]) => void;
  readonly opens?: (id: string) => void;
}

/** What the app does for a window over this broker, where every press counts. */
export function handlerOver(owner: Connection, { shown, opens, ...parts }: Parts = {}) {
  const guard = {
    approve: () => undefined,
    approveCard: () => undefined,
    cardShown: shown ?? (() => undefined),
  };
  const nothing = async (): Promise<void> => undefined;
  const handlers = channelHandlers({
    owner: {
      call: (method: string, params: object) => owner.request(method, params),
      widens: async () => false,
      allowCommand: nothing,
    },
    signInPages: {
      open: async (id: string) => opens?.(id),
      allowAddress: () => undefined,
      allowPage: () => undefined,
      reopen: nothing,
      withPage: (_resource: string, work: () => Promise<unknown>) => work(),
    },
    windows: { fitCard: () => undefined, noteAnswer: () => undefined },
    copy: nothing,
    restart: () => undefined,
    preferencesChanged: () => undefined,
    ...parts,
    // The rest of the app's parts needs Electron.
  } as unknown as HandlerParts);
  return handlers({ guard, updateGuard: () => undefined } as unknown as AppWindow);
}

interface Listed {
  readonly requests: readonly { readonly id: string; readonly kind: string }[];
}

/** The id of the first open question of a kind; waits for it. */
export async function questionId(owner: Connection, kind: string): Promise<string> {
  for (;;) {
    // The method's own answer; the broker's tests hold its form.
    const { requests } = (await owner.request('request.list')) as Listed;
    const id = requests.find((question) => question.kind === kind)?.id;
    if (id !== undefined) return id;
    await sleep(10);
  }
}
