#!/usr/bin/env node
/**
 * A real browser as a command: opens the URL in Chromium, signs in and consents as a person would,
 * and waits for the page at the loopback address.
 *
 *     node test/support/browsers/chromium-agent.ts [--account NAME] [--deny] URL
 *
 * The URL comes last, because programs append it to the browser's command. The authority to trust is in the
 * file that KEYTURN_DEMO_CA or else NODE_EXTRA_CA_CERTS names. Exit 0: the loopback page answered
 * 2xx. Otherwise 1 and one sentence on stderr, without any part of a URL's query.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type LastPage, openBrowserProfile, type Person } from './browser.ts';

const { values, positionals } = parseArgs({
  options: { account: { type: 'string', default: 'alice' }, deny: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const url = positionals.at(-1);
const caFile = process.env['KEYTURN_DEMO_CA'] ?? process.env['NODE_EXTRA_CA_CERTS'];

if (url === undefined || !URL.canParse(url) || caFile === undefined) {
  end('usage: KEYTURN_DEMO_CA=FILE chromium-agent [--account NAME] [--deny] URL');
} else {
  try {
    const { status, url: last } = await visit(url, await readFile(caFile, 'utf8'), values);
    const { protocol, hostname } = new URL(last);
    if (protocol !== 'http:') end(`The sign-in ended at ${hostname}, not at the loopback address.`);
    else if (status < 200 || status > 299) end(`The loopback page answered ${status}.`);
  } catch {
    // An error's text may name the URL, which holds a state or a code.
    end('The sign-in broke off.');
  }
}

async function visit(target: string, ca: string, person: Person): Promise<LastPage> {
  const browser = await openBrowserProfile({ ca, origins: [await firstPage(target)] });
  try {
    return await browser.open(target, person);
  } finally {
    await browser.close();
  }
}

/** The page that the address leads on to: its server's certificate has to be trusted before the browser starts. */
async function firstPage(target: string): Promise<string> {
  if (new URL(target).protocol !== 'http:') return target;
  const response = await fetch(target, { redirect: 'manual' });
  await response.body?.cancel();
  return response.headers.get('location') ?? target;
}

function end(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
