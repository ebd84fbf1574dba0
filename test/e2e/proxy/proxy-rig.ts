/** A proxy in front of a bent MCP server, and the programs that come by it. */
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { homeInBentWorld, type BentHomeOptions } from '../../support/bent/home.ts';
import { until, type TestHome } from '../../support/home.ts';
import { askBroker, type Question, questionsAt } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The next card, once it is there: each is a program's. */
export async function nextCard(home: TestHome): Promise<Card> {
  return until('a card', async () => {
    const [card] = await questionsAt(home);
    return card?.app === undefined ? undefined : { ...card, app: card.app };
  });
}

type Card = Question & { readonly app: string };

/** Answers the card that `asking` raises. */
export async function answering<T>(home: TestHome, asking: Promise<T>, answer: 'approve' | 'deny') {
  asking.catch(() => undefined);
  const card = await nextCard(home);
  await askBroker(home, 'request.answer', { id: card.id, answer });
  return { card, got: await asking };
}

let given = 0;

/** The broker of a home that several tests share runs already. */
export async function proxied(options: BentHomeOptions = {}) {
  const there = await homeInBentWorld(options);
  // A home that several tests share has a proxy of each.
  const name = `notes${(given += 1)}`;
  if (!options.shared) await owner.startBroker(there.home);
  const { proxy } = await askBroker(there.home, 'proxy.add', { resource: there.url, name });
  return { ...there, proxy };
}

/** The same, where this process may use it. */
export async function allowedProxy(options: BentHomeOptions = {}) {
  const there = await proxied(options);
  const { card } = await answering(there.home, call(there.proxy.url), 'approve');
  return { ...there, client: card.app };
}

const message = { jsonrpc: '2.0', id: 7, method: 'tools/list' };

/** One message of this process's, with further headers. */
export async function call(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(message),
  });
}

/** The reason of a refusal of the proxy's, with its status. */
export async function refusalOf(response: Response) {
  const body = (await response.json()) as { id: unknown; error?: { data?: { reason?: unknown } } };
  return { status: response.status, id: body.id, reason: body.error?.data?.reason };
}

/** A program of another file: sends one message, prints the status. */
export async function otherProgram(url: string, name: string): Promise<string> {
  const file = path.join(temporaryFolder(), name);
  copyFileSync(process.execPath, file);
  const script = `const r = await fetch(process.argv[1], { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }); console.log(r.status);`;
  const child = spawn(file, ['--input-type=module', '-e', script, url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return (await text(child.stdout)).trim();
}
