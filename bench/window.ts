/**
 * The app's window with much in it: the built page in a real Chromium, and behind it a broker with 500 grants and 50,000 audit
 * rows of one day. Electron's own part is left out: its binary is not here.
 *
 * Invariant: lists go the app's way: from the broker over its socket, through the bridge's schemas, into the page. Its one
 * program is shown 200 times, since pairing so many would take longer than all rows.
 */
import path from 'node:path';
import { mkdirSync } from 'node:fs';
import { answerCall, type ChannelHandler } from '../electron/bridge/bridge.ts';
import type { ResultOn } from '../electron/bridge/channels.ts';
import { AuditFile } from '../src/audit/audit.ts';
import { homePaths } from '../src/base/paths.ts';
import { connectAsOwner } from '../src/client/connect.ts';
import { openBrowserProfile } from '../test/support/browsers/browser.ts';
import { type Answer, type WindowPage, windowPage } from '../test/support/electron/window-page.ts';
import { exampleAnswer } from '../test/support/homes/example-desk.ts';
import { addGrants, sealedHome } from './many-grants.ts';

export interface CrowdedDesk {
  readonly page: WindowPage;
  /** From the broker with much in it, and from lists of three grants that are written down. */
  readonly answers: Readonly<Record<'much' | 'little', Answer>>;
  readonly close: () => Promise<void>;
}

export interface Crowd {
  readonly grants: number;
  readonly programs: number;
  readonly rows: number;
}

/** `resource`: somebody can sign in there; `ca`: PEM text of its authority. */
export async function crowdedDesk(
  { ca, resource }: Readonly<Record<'ca' | 'resource', string>>,
  { grants, programs, rows }: Crowd,
): Promise<CrowdedDesk> {
  const home = await sealedHome();
  const ends: (() => unknown)[] = [async () => home.close()];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    await writeRows(home.env, rows);
    home.trust(ca);
    await home.prepare(resource);
    await home.endLast();
    await addGrants(home.env, grants - 1);
    await home.startBroker();
    const owner = await connectAsOwner({ env: home.env });
    ends.push(() => owner.close());
    const profile = await openBrowserProfile({ ca: '', origins: [] });
    ends.push(async () => profile.close());
    const ask: ChannelHandler = async (channel, params) => {
      // The bridge has checked them by the channel's schema: an object each.
      const answer = await owner.request(channel, params as object);
      return channel === 'client.list' ? repeated(answer as ResultOn<'client.list'>, programs) : answer;
    };
    const little = exampleAnswer();
    const much: Answer = async (channel, params) =>
      ofTheApp.has(channel) ? little(channel, params) : answerCall(ask, channel, params);
    return { page: await windowPage(profile.page.context()), answers: { much, little }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the app's main process answers by itself. */
const ofTheApp: ReadonlySet<unknown> = new Set(['preferences.get', 'setup.look', 'card.shown', 'card.fit']);

function repeated({ clients }: ResultOn<'client.list'>, count: number): ResultOn<'client.list'> {
  const all = Array.from({ length: count }, (_, n) =>
    clients.slice(0, 1).map((one) => ({ ...one, clientId: `${one.clientId}${n}`, name: `${one.name} ${n}` })),
  );
  return { clients: all.flat() };
}

/** Of the last 24 hours. The broker's first row seals them. */
async function writeRows(env: NodeJS.ProcessEnv, count: number): Promise<void> {
  const { state } = homePaths(env);
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const from = Date.now() - 24 * 3_600_000;
  let written = 0;
  const audit = new AuditFile(path.join(state, 'audit.jsonl'), () => from + (written / count) * 86_000_000);
  while (written < count) {
    const endpoint = `https://server-${written % 500}.example/mcp`;
    audit.note({ event: 'refresh', outcome: 'ok', issuer: 'https://login.example', endpoint });
    written += 1;
    // More than 10,000 in memory would be lost.
    if (written % 5000 === 0) await audit.flush();
  }
  await audit.flush();
}
