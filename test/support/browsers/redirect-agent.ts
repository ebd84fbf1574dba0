#!/usr/bin/env node
/**
 * A browser that only follows redirects: enough where an authorization server asks nobody anything.
 *
 *     node test/support/browsers/redirect-agent.ts URL
 *
 * Exit 0: the last page answered 2xx. Otherwise 1 and one sentence on stderr, without any part of a
 * URL's query. The authority to trust is in the file that KEYTURN_DEMO_CA names.
 */
import { readFile } from 'node:fs/promises';
import { trustingFetch } from '../../../src/serve/trusting-fetch.ts';

const caFile = process.env['KEYTURN_DEMO_CA'];
const url = process.argv.at(-1);
if (caFile === undefined || url === undefined || !URL.canParse(url)) {
  process.stderr.write('usage: KEYTURN_DEMO_CA=FILE redirect-agent URL\n');
  process.exit(1);
}
const trusting = trustingFetch(await readFile(caFile, 'utf8'));
try {
  const response = await trusting.fetch(url, { headers: { accept: 'text/html' } });
  await response.body?.cancel();
  if (!response.ok) {
    process.stderr.write(`The last page answered ${response.status}.\n`);
    process.exitCode = 1;
  }
} catch {
  // An error's text may name the URL, which holds a state or a code.
  process.stderr.write('The sign-in broke off.\n');
  process.exitCode = 1;
} finally {
  await trusting.close();
}
