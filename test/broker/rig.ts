/** The broker's real parts over a temporary folder. Only time and the user are faked. All of it ends with the test. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { createSecretKey } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { openDocument, type DocumentOptions, type RecordList } from '../../src/store/home-document.ts';
import type { HomeDocument } from '../../src/store/document.ts';
import { VaultItems, type ItemParts as VaultItemsParts } from '../../src/store/vault-items.ts';
import { type Records, recordsOf } from '../../src/broker/records/records.ts';
import { AuditFile } from '../../src/audit/audit.ts';
import { Broker, type LoginRequest } from '../../src/broker/broker.ts';
import { ApprovalRequests } from '../../src/broker/approval-requests/approval-requests.ts';
import type { Question } from '../../src/broker/approval-requests/question.ts';
import { anyPort } from '../../src/broker/loopback/port-listener.ts';
import { AccessPause } from '../../src/broker/refusals/access-pause.ts';
import { Loopback } from '../../src/broker/loopback/loopback.ts';
import { type BrokerParts, brokerParts } from '../../src/broker/parts.ts';
import { TokenCache } from '../../src/broker/tokens/token-cache.ts';
import type { TokenRequest } from '../../src/broker/request.ts';
import { requireShowable } from '../../src/daemon/methods/request-methods.ts';
import { defaultSettings } from '../../src/daemon/settings/settings.ts';
import type { Fetch, Http } from '../../src/oauth/base/http.ts';
import type { Vault } from '../../src/vault/base/vault.ts';
import type { TestWorld } from '../support/world.ts';
import { HandClock } from './hand-clock.ts';
import { watchedVault, type WatchedVault } from './watched-vault.ts';
import { lastingVault } from '../support/homes/authority-home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Where a rig's broker lives: the network it reaches, and who sits at the browser. */
export interface Surroundings {
  readonly fetch: Fetch;
  /** The endpoint that requests are for unless they say otherwise. */
  readonly endpoint: string;
  /** Signs in at an authorization URL, as a user would. */
  visit(url: string, person: Person): Promise<unknown>;
}

/** What the user or the composition root sets up differently from the default. */
export interface RigOptions {
  /** URL of our client ID metadata document. */
  readonly clientMetadataUrl?: string;
  /** Accepts http on loopback hosts. */
  readonly allowInsecureLoopback?: boolean;
  readonly protocolVersion?: Http['protocolVersion'];
  /** What all parts except the rig itself use in front of the vault. */
  readonly front?: (vault: Vault, clock: HandClock) => Vault;
  /** The same for the document, whose number is in a vault of its own here. */
  readonly documentFront?: (vault: Vault) => Vault;
  /** Starts where this one stopped: the same files and vault, and nothing in memory. */
  readonly after?: { readonly folder: string; readonly vault: WatchedVault };
}

export interface Person {
  account: string;
  /** False: looks at the page and does nothing. */
  isThere: boolean;
}

/** The root key of every test home. */
const testRoot = createSecretKey(Buffer.alloc(32, 7));

/** By folder: what the vault of its home knows of the document. */
const vaults = new Map<string, Vault>();

function vaultOf(folder: string): Vault {
  const known = vaults.get(folder) ?? lastingVault();
  vaults.set(folder, known);
  return known;
}

/** The document of a folder, in a home with a vault that lasts. */
export function testDocument(folder: string, parts: Partial<DocumentOptions> = {}): HomeDocument {
  return openDocument({
    folder,
    place: { home: 'A'.repeat(22), vault: 'keychain' },
    vault: vaultOf(folder),
    root: async () => testRoot,
    ...parts,
  });
}

/** The vault's items that the records of a document name. */
export function itemsOf({ document, unused }: Records, vault: VaultItemsParts['vault']): VaultItems {
  return new VaultItems({ document, unused, vault });
}

/** All lists of a new document. */
export async function newRecords(folder = temporaryFolder()): Promise<Records> {
  const records = recordsOf(testDocument(folder));
  await records.document.verify();
  return records;
}

/** A list without a document. */
export function looseRecords<Item>(): RecordList<Item> {
  let items: readonly Item[] = [];
  return {
    get items() {
      return items;
    },
    get shown() {
      return items;
    },
    get readable() {
      return items;
    },
    change: async (edit) => void (items = edit(items)),
  };
}

export const inWorld = (world: TestWorld): Surroundings => ({
  fetch: world.fetch,
  endpoint: world.protectedServer.url,
  visit: (url, { account }) => world.signIn(url, { account }),
});

export async function brokerRig(surroundings: Surroundings, options: RigOptions = {}) {
  const folder = options.after?.folder ?? temporaryFolder();
  const clock = new HandClock();
  const vault = options.after?.vault ?? watchedVault();
  const fetched: string[] = [];
  const readUp: string[] = [];
  const pages: string[] = [];
  const opened: string[] = [];
  const person: Person = { account: 'alice', isThere: true };
  const visits: Promise<unknown>[] = [];
  const changes = new EventTarget();
  const parts = await partsOn({
    folder,
    clock,
    vault,
    options,
    fetch: async (url, init) => {
      fetched.push(url);
      const response = await surroundings.fetch(url, init);
      return {
        status: response.status,
        headers: response.headers,
        body: noting(response.body, () => readUp.push(url)),
      };
    },
    changed: () => void changes.dispatchEvent(new Event('change')),
    openBrowser: async (url) => {
      opened.push(url);
      pages.push(...parts.approvalRequests.list().flatMap(({ question }) => pageOf(question, url)));
      if (person.isThere) visits.push(surroundings.visit(url, { ...person }));
    },
  });
  const broker = new Broker(parts);
  const visited = async (): Promise<void> => void (await Promise.allSettled(visits));
  const gone = new AbortController();
  onTestFinished(async () => {
    gone.abort();
    await visited();
    await parts.refresher.settled();
    await parts.audit.flush();
  });
  const { endpoint } = surroundings;
  return {
    broker,
    parts,
    clock,
    vault,
    endpoint,
    folder,
    /** URLs of all requests that left, in order. */
    fetched,
    /** Those whose answer was read to its end. */
    readUp,
    /** Authorization URLs that were shown. */
    pages,
    /** Addresses that the browser was given, which redirect to those URLs. */
    opened,
    person,
    /** Resolves when all visits to pages have ended. */
    visited,
    /** A program asks. `editor`, all that its permission gives, and a minute, unless told otherwise. */
    ask: async (request: Partial<TokenRequest> = {}) =>
      broker.tokenRequests.answer({
        appId: 'editor',
        resource: endpoint,
        interaction: 'allow',
        timeout: 60_000,
        signal: gone.signal,
        ...request,
      }),
    allow: (appId = 'editor', scope?: readonly string[], where = endpoint) =>
      broker.consent.decide({
        appId,
        endpoint: where,
        decision: 'allow',
        createdAt: clock.now(),
        ...(scope ? { scope: [...scope] } : {}),
      }),
    login: (asked: Partial<LoginRequest> = {}) =>
      broker.login({ resource: endpoint, method: 'browser', timeout: 60_000, signal: gone.signal, ...asked }),
    /** The one sign-in there is. */
    signIn: () => only(parts.signIns.all()),
    /** Resolves with the first open question of this kind. */
    question: async (kind: Question['kind']) => {
      for (;;) {
        const open = parts.approvalRequests.list().find(({ question }) => question.kind === kind);
        if (open) return open;
        await new Promise((resolve) => changes.addEventListener('change', resolve, { once: true }));
      }
    },
    /** What was written to disk: every file of the state folder with its inode and size. */
    footprint: () =>
      Object.fromEntries(
        readdirSync(folder).map((name) => {
          const { ino, size } = statSync(path.join(folder, name));
          return [name, `${ino} ${size}`];
        }),
      ),
    /** The text of every file of the state folder. */
    texts: () => readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8')),
  };
}

export type Rig = Awaited<ReturnType<typeof brokerRig>>;

/** `editor` has its first token. */
export async function usedRig(...how: Parameters<typeof brokerRig>): Promise<Rig> {
  const rig = await brokerRig(...how);
  await rig.allow();
  await rig.ask();
  return rig;
}

/** `editor` may ask for a token of the sign-in that is there. */
export async function signedInRig(...how: Parameters<typeof brokerRig>): Promise<Rig> {
  const rig = await brokerRig(...how);
  await rig.allow();
  await rig.login();
  return rig;
}

/** The authorization URL to which an address of ours redirects. */
function pageOf(question: Question, address: string): string[] {
  return question.kind === 'signIn' && question.startUrl === address ? [question.url] : [];
}

type Body = Awaited<ReturnType<Fetch>>['body'];

/** The same body, telling when it has been read. */
function noting(body: Body, onEnd: () => void): Body {
  return (
    body && {
      async *[Symbol.asyncIterator]() {
        yield* body;
        onEnd();
      },
      cancel: () => body.cancel(),
    }
  );
}

interface Stage {
  readonly folder: string;
  readonly clock: HandClock;
  readonly vault: WatchedVault;
  readonly options: RigOptions;
  readonly fetch: Fetch;
  readonly changed: () => void;
  readonly openBrowser: (url: string) => Promise<void>;
}

async function partsOn(stage: Stage): Promise<BrokerParts> {
  const { folder, clock, options } = stage;
  const { allowInsecureLoopback = false, clientMetadataUrl, protocolVersion } = options;
  const newest = vaultOf(folder);
  const document = testDocument(folder, { vault: options.documentFront?.(newest) ?? newest });
  const records = recordsOf(document);
  await document.load();
  const parts = brokerParts(
    {
      clock,
      vault: options.front?.(stage.vault, clock) ?? stage.vault,
      cache: new TokenCache(() => 0),
      // Rigs of other test files run at the same time.
      loopback: new Loopback({ fixedPort: anyPort() }),
      approvalRequests: new ApprovalRequests(() => clock.wall(), stage.changed, requireShowable),
      pause: new AccessPause(() => clock.wall()),
      audit: new AuditFile(folder, () => clock.wall()),
      isKeyturnApp: false,
      requireSettingsAnswered: async () => undefined,
    },
    {
      records,
      settings: {
        ...defaultSettings,
        insecureLoopback: allowInsecureLoopback,
        clientMetadataUrl,
        ...(protocolVersion
          ? { protocolVersionHeader: protocolVersion.header, protocolVersion: protocolVersion.value }
          : {}),
      },
      fetchFor: () => stage.fetch,
      openBrowser: stage.openBrowser,
      signInsChanged: () => undefined,
    },
  );
  await document.verify();
  return parts;
}

function only<T>(items: readonly T[]): T {
  const [item, ...more] = items;
  if (item === undefined || more.length > 0) throw new Error(`there are ${items.length}, not one`);
  return item;
}

/** Lets everything that is ready to run, run: for "nothing has happened yet". */
export async function turnOfEvents(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when a second request has come as far as the queue of pages: once it has read all metadata the rest needs no I/O. */
export async function queued({ readUp }: Rig): Promise<void> {
  const read = (): number => readUp.filter((url) => url.includes('oauth-authorization-server')).length;
  while (read() < 2) await turnOfEvents();
  await turnOfEvents();
}

/** The refusal of a promise that must be refused. */
export async function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => error,
  );
}
