/** The arguments of mcp-remote 0.15.1, and the headers among them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { headersFrom, withHeaders } from '../../src/cli/apps/extra-headers.ts';
import { translated } from '../../src/setup/mcp-remote.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const url = 'https://notes.example/mcp';

it.each([
  ['--header', 'honoured'],
  ['--transport', 'honoured'],
  ['--auth-timeout', 'ignored'],
  ['--debug', 'ignored'],
  ['--static-oauth-client-info', 'refused'],
  ['--client-credentials', 'refused'],
])('the flag %s is %s', (flag, fate) => {
  const value = /^--(debug|client-credentials)$/.test(flag) ? [] : ['v'];
  const taken = () => translated([url, flag, ...value, '--as', 'an-editor']);
  if (fate === 'refused')
    return expect(taken).toThrow(expect.objectContaining({ hint: expect.stringMatching(/./) }));
  const kept = fate === 'honoured' ? [flag, ...value] : [];
  expect(taken()).toMatchObject({ args: [url, ...kept, '--as', 'an-editor'] });
  return expect(taken().told).toHaveLength(fate === 'ignored' ? 1 : 0);
});

describe('headers', () => {
  it('come from arguments and files, with what the environment fills in', async () => {
    const file = path.join(temporaryFolder(), 'headers');
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
    ['X-A: secret-value ✓', 'Fix the entry'],
    ['X-A: ${MISSING}', 'Fix the entry'],
    ['no header', 'Fix the entry'],
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
        expect(init?.redirect).toBe(init && 'manual');
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
});
