/** The arguments of mcp-remote 0.15.1, and the headers among them. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { headersFrom, withHeaders } from '../../src/cli/programs/extra-headers.ts';
import { translated } from '../../src/setup/mcp-remote.ts';
import { page, section, tableRows } from '../docs/pages.ts';

const url = 'https://notes.example/mcp';

/** Every flag that its 0.15.1 reads; those that carry a value. */
const withValue =
  '--auth-success-url --auth-timeout --authorize-param --body-timeout --callback-path --client-metadata-url --connect-timeout --header --header-file --headers-timeout --host --ignore-tool --ping-interval --protocol --resource --static-oauth-client-info --static-oauth-client-metadata --token-endpoint --transport'.split(
    ' ',
  );
const withoutValue =
  '--allow-http --client-credentials --debug --device-code --disable-cookies --disable-resource-parameter --enable-proxy --ipv4 --keep-alive --silent --use-id-token'.split(
    ' ',
  );

function fate(flag: string, hasValue: boolean): 'honoured' | 'ignored' | 'refused' {
  try {
    const { args, told } = translated([url, flag, ...(hasValue ? ['v'] : []), '--as', 'an-editor']);
    if (told.length === 0) {
      expect(args).toEqual([url, flag, 'v', '--as', 'an-editor']);
      return 'honoured';
    }
    expect(told).toHaveLength(1);
    expect(args).toEqual([url, '--as', 'an-editor']);
    return 'ignored';
  } catch (error) {
    expect(error).toMatchObject({ reason: 'invalid_request', hint: expect.stringMatching(/./) });
    return 'refused';
  }
}

it('each flag is honoured, ignored or refused as docs/reference/bridge.md says', () => {
  const rows = tableRows(section(page('docs/reference/bridge.md'), 'Instead of mcp-remote')).slice(2);
  const documented = rows.flatMap(([what = '', flags = '']) =>
    flags.split(', ').map((flag) => [flag.replaceAll('`', ''), what] as const),
  );
  const found = [
    ...withValue.map((flag) => [flag, fate(flag, true)] as const),
    ...withoutValue.map((flag) => [flag, fate(flag, false)] as const),
  ];
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(found));
});

describe('headers', () => {
  it('come from arguments and files, with what the environment fills in', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'headers');
    writeFileSync(file, '# for the team\nX-Team: notes\n\nX-Key:${KEY}\n');
    const headers = await headersFrom({ header: ['X-Trace: on ${WHEN}'], 'header-file': [file] }, url, {
      KEY: 'k',
      WHEN: 'Monday',
    });
    expect([...headers]).toEqual([
      ['X-Trace', 'on Monday'],
      ['X-Team', 'notes'],
      ['X-Key', 'k'],
    ]);
  });

  it.each([
    [
      'authorization: Bearer secret-value',
      'keyturn api-key set https://notes.example/mcp --header "authorization"',
    ],
    ['Host: secret-value', 'the bridge sets it'],
    ['Mcp-Session-Id: secret-value', 'the bridge sets it'],
    ['Upgrade: secret-value', 'the bridge sets it'],
    ['X-A: secret-value ✓', 'Mend the entry'],
    ['X-A: secret-value\u0001', 'Mend the entry'],
    ['X-A: ${ODD}', 'Mend the entry'],
    ['X-A: ${MISSING}', 'Mend the entry'],
    ['no header', 'Mend the entry'],
  ])('are refused, and their values not repeated: %s', async (text, hint) => {
    const error: unknown = await headersFrom({ header: [text] }, url, { ODD: 'secret-value ✓' }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ reason: 'invalid_request', hint: expect.stringContaining(hint) });
    expect(String(error)).not.toContain('secret-value');
  });

  it('go to the endpoint alone, and never in place of what a request says itself', async () => {
    const sent: [string, Record<string, string>][] = [];
    const send = withHeaders(
      async (input, init) => {
        sent.push([
          input instanceof Request ? input.url : new URL(input).href,
          Object.fromEntries(new Headers(init?.headers)),
        ]);
        return new Response();
      },
      new Map([['X-Team', 'notes']]),
      url,
    );
    await send(url, { headers: { authorization: 'Bearer t' } });
    await send(url, { headers: { 'x-team': 'mine' } });
    await send('https://other.example/mcp');
    expect(sent).toEqual([
      [url, { authorization: 'Bearer t', 'x-team': 'notes' }],
      [url, { 'x-team': 'mine' }],
      ['https://other.example/mcp', {}],
    ]);
  });

  it('are not carried to another origin by a redirect', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await listening((request, response) => {
      seen.push(request.headers['x-team']?.toString());
      response.end();
    });
    const here = await listening((_, response) => {
      response.writeHead(307, { location: elsewhere }).end();
    });
    const answer = await withHeaders(fetch, new Map([['X-Team', 'notes']]), here)(here);
    expect(answer.status).toBe(307);
    expect(seen).toEqual([]);
  });
});

/** The URL of a server that ends with the test. */
async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}/mcp`;
}
