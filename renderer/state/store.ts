/**
 * The page's one way out, `window.keyturn`, which preload puts there: the lists that it shows, and what the user does.
 * Each call is one message to electron/windows/ipc.ts.
 *
 * Invariants: a call never rejects: whatever goes wrong on the way is a refusal as a value. Lists are read when somebody
 * shows them, and again after every change. What was read stays until something newer was read; a read that failed says so beside it.
 * One read of a list at a time: changes meanwhile lead to one more. Rows that are as before stay the same objects, so
 * that they are not drawn again.
 */
import { announce } from './announcement.ts';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { Envelope } from '../../electron/bridge/channels.ts';
import { strings } from '../base/strings.ts';
import type { Bridge, ChannelName, ParamsOn, Refusal, ResultOn } from '../base/views.ts';

declare global {
  interface Window {
    readonly keyturn: Bridge;
  }
}

export async function call<C extends ChannelName>(
  channel: C,
  params: ParamsOn<C>,
): Promise<Envelope<ResultOn<C>>> {
  try {
    return await window.keyturn.call(channel, params);
  } catch {
    // A host that doesn't answer at all.
    return { ok: false, refusal: { reason: 'internal', message: strings.bridgeUnavailable } };
  }
}

/** The lists, with what each is asked. */
const listParams = {
  'signIn.list': {},
  'apiKey.list': {},
  'app.list': {},
  'request.list': {},
  'audit.tail': { count: 1000 },
  'audit.activity': { hours: 24 },
  'forward.list': {},
  'oauthClient.list': {},
  'settings.get': {},
  'preferences.get': {},
  status: {},
} as const;

type ListName = keyof typeof listParams;

export interface ListState<T> {
  /** Undefined until it was read once. */
  readonly value?: T;
  /** Of the last read. */
  readonly refusal?: Refusal;
}

interface Entry {
  state: ListState<ResultOn<ListName>>;
  /** The read under way. It asks again until nothing has changed since its last question. */
  reading: Promise<void> | undefined;
  isOutdated: boolean;
  readonly watchers: Set<() => void>;
}

const entries = new Map<ListName, Entry>();

/**
 * How often what is on the screen is read again though nothing told of a change, in milliseconds: times of last use.
 */
const rereadEvery = 60_000;

export function startStore(): void {
  window.keyturn.onChange(rereadAll);
  document.addEventListener('visibilitychange', rereadWhenVisible);
  window.addEventListener('focus', rereadAll);
  setInterval(rereadWhenVisible, rereadEvery);
}

function rereadWhenVisible(): void {
  if (document.visibilityState === 'visible') rereadAll();
}

/** Reads again whatever is shown. */
export function rereadAll(): void {
  for (const [name, entry] of entries) {
    if (entry.watchers.size > 0) read(name, entry);
    else entry.isOutdated = true;
  }
}

/** Waits until no read of this list is under way. The last read may have been refused. */
export async function listRead(name: ListName): Promise<void> {
  await entryOf(name).reading;
}

function read(name: ListName, entry: Entry): void {
  if (entry.reading === undefined) entry.reading = readUntilCurrent(name, entry);
  else entry.isOutdated = true;
}

async function readUntilCurrent(name: ListName, entry: Entry): Promise<void> {
  try {
    do {
      entry.isOutdated = false;
      await readOnce(name, entry);
    } while (entry.isOutdated);
  } finally {
    entry.reading = undefined;
  }
}

async function readOnce(name: ListName, entry: Entry): Promise<void> {
  const answer = await call(name, listParams[name]);
  const { value } = entry.state;
  const state = answer.ok
    ? { value: shareStructure(value, answer.value) }
    : { refusal: answer.refusal, ...(value === undefined ? {} : { value }) };
  // Nothing new, nothing to draw: a list is read far more often than it changes.
  if (shareStructure<Entry['state']>(entry.state, state) !== entry.state) {
    entry.state = state;
    for (const watcher of entry.watchers) watcher();
  }
}

function entryOf(name: ListName): Entry {
  const known = entries.get(name);
  if (known) return known;
  const entry: Entry = { state: {}, reading: undefined, isOutdated: true, watchers: new Set() };
  entries.set(name, entry);
  return entry;
}

export function useList<N extends ListName>(name: N): ListState<ResultOn<N>> {
  const entry = entryOf(name);
  const [, rerender] = useState(0);
  const drawn = entry.state;
  // Before the first paint: the question is under way while the empty view is drawn.
  useLayoutEffect(() => {
    const watcher = (): void => rerender((turn) => turn + 1);
    entry.watchers.add(watcher);
    // Between the drawing and this effect an answer may have come, of which nobody has told.
    if (entry.state !== drawn) watcher();
    if (entry.isOutdated) read(name, entry);
    return () => void entry.watchers.delete(watcher);
  }, [entry, name]);
  // An entry holds only answers to its own name; the map can't say so.
  return entry.state as ListState<ResultOn<N>>;
}

/** Something that the user does: a call whose refusal is shown beside its button. */
export interface Action {
  readonly isBusy: boolean;
  readonly refusal: Refusal | undefined;
  /** `done`: announced once it is done. Undefined where it was refused. */
  run<C extends ChannelName>(
    channel: C,
    params: ParamsOn<C>,
    done?: string,
  ): Promise<ResultOn<C> | undefined>;
}

/** One at a time for each place. After each call the lists are read again. */
export function useAction(): Action {
  const [{ isBusy, refusal }, set] = useState<{ isBusy: boolean; refusal?: Refusal }>({ isBusy: false });
  return {
    isBusy,
    refusal,
    async run(channel, params, done) {
      if (isBusy) return undefined;
      set({ isBusy: true });
      const answer = await call(channel, params);
      set(answer.ok ? { isBusy: false } : { isBusy: false, refusal: answer.refusal });
      rereadAll();
      if (answer.ok && done !== undefined) announce(done);
      return answer.ok ? answer.value : undefined;
    },
  };
}

/** Equals `after`, with the objects of `before` for what did not change. */
function shareStructure<T>(before: T | undefined, after: T): T {
  if (before === undefined || before === after) return after;
  if (Array.isArray(before) && Array.isArray(after)) return shareList(before, after) as T;
  if (isRecord(before) && isRecord(after)) return shareRecord(before, after) as T;
  return after;
}

function shareList(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  const known = new Map(before.map((row) => [JSON.stringify(row), row]));
  const rows = after.map((row) => known.get(JSON.stringify(row)) ?? row);
  const isSame = rows.length === before.length && rows.every((row, at) => row === before[at]);
  return isSame ? before : rows;
}

function shareRecord(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names = Object.keys(after);
  const fields = names.map((name) => [name, shareStructure(before[name], after[name])] as const);
  const isSame =
    names.length === Object.keys(before).length && fields.every(([name, value]) => value === before[name]);
  return isSame ? before : Object.fromEntries(fields);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
