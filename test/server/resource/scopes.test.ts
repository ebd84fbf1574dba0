/** Which scopes a request needs by its operation and its path, and what a challenge for more asks for. */
import { describe, expect, it } from 'vitest';
import type { ProtectedServerOptions } from '../../../src/server/index.ts';
import { bearerOf, Issuer, metadataUrl, newKey, rig, tokenOf } from '../parties.ts';

const key = await newKey();
const token = await tokenOf(key);

describe('scopes', () => {
  const operations: ProtectedServerOptions['operations'] = {
    tools: { 'add-note': ['notes:write'], '*': ['notes:use'] },
    resources: {
      'notes://secret': ['notes:secret'],
      'notes://team/*': ['notes:team'],
      'notes://my%20plan': ['notes:own'],
    },
    prompts: { plan: ['notes:plan'] },
    methods: { 'logging/setLevel': ['notes:admin'] },
  };
  const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
  const read = (uri: string) => message('resources/read', { uri });
  const complete = (ref: object) => message('completion/complete', { ref });
  const listen = (notifications: object) => message('subscriptions/listen', { notifications });
  const addNote = message('tools/call', { name: 'add-note' });

  it.each([
    ['a tool', addNote, 'notes:write'],
    ['a tool without an entry', message('tools/call', { name: 'other' }), 'notes:use'],
    ['a tool named like a property', message('tools/call', { name: 'constructor' }), 'notes:use'],
    ['a resource', read('notes://secret'), 'notes:secret'],
    ['a resource by the beginning of its URI', read('notes://team/a'), 'notes:team'],
    ['a resource whose rule is spelled otherwise', read('notes://%6dy%20plan'), 'notes:own'],
    ['a prompt', message('prompts/get', { name: 'plan' }), 'notes:plan'],
    ['a completion for a prompt', complete({ type: 'ref/prompt', name: 'plan' }), 'notes:plan'],
    [
      'a completion for a resource',
      complete({ uri: 'notes://team/{id}', type: 'ref/resource' }),
      'notes:team',
    ],
    ['a subscription to several', listen({ resourceSubscriptions: ['a', 'notes://secret'] }), 'notes:secret'],
    ['a method', message('logging/setLevel'), 'notes:admin'],
    ['one message of a batch', [message('ping'), addNote], 'notes:write'],
    ['a notification', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'add-note' } }, 'notes:write'],
  ])('RS-10 RS-20: are needed for %s', async (_what, body, needed) => {
    const { call, handled } = rig(new Issuer(key), { operations });
    const answer = await call(token, { body: JSON.stringify(body) });
    expect(answer.status).toBe(403);
    expect(bearerOf(answer)).toMatchObject({
      error: 'insufficient_scope',
      scope: ['notes:read', needed],
      resourceMetadata: metadataUrl,
    });
    expect(handled).toEqual([]);
    const enough = await tokenOf(key, { scope: `notes:read ${needed}` });
    expect((await call(enough, { body: JSON.stringify(body) })).status).toBe(200);
    expect(handled[0]?.access.body).toEqual(body);
  });

  it.each([
    ['minimal', ['notes:read', 'notes:write']],
    ['recommended', ['notes:read', 'notes:team', 'notes:write']],
    ['extended', ['notes:read', 'notes:team', 'notes:write', 'notes:delete']],
  ] as const)('RS-11: of a challenge follow the strategy %s', async (strategy, scope) => {
    const { call } = rig(new Issuer(key), {
      strategy,
      operations,
      scopes: { required: ['notes:read'], related: { 'notes:write': ['notes:delete'] } },
    });
    // The token also has a scope of another server, which is not relevant here.
    const granted = await tokenOf(key, { scope: 'notes:read notes:team mail:send' });
    expect(bearerOf(await call(granted, { body: JSON.stringify(addNote) }))?.scope).toEqual(scope);
  });

  it('RS-10: imply others over several steps as configured, never by their names', async () => {
    const implies = { 'notes:admin': ['notes:write'], 'notes:write': ['notes:read'] };
    const { call } = rig(new Issuer(key), { operations, scopes: { required: ['notes:read'], implies } });
    const statuses = await Promise.all(
      ['notes:admin', 'notes:write', 'notes:write:all', 'notes:*', 'notes'].map(
        async (scope) =>
          (await call(await tokenOf(key, { scope }), { body: JSON.stringify(addNote) })).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 403, 403, 403]);
  });

  it.each(['/mcp/admin/x', '/mcp//ADMIN', '/mcp/%61dmin'])(
    'RS-10: of a route are needed at %s',
    async (path) => {
      const { call } = rig(new Issuer(key), { routes: [{ path: '/mcp/admin', scopes: ['notes:admin'] }] });
      const url = `https://notes.example${path}`;
      expect(bearerOf(await call(token, { url }))?.scope).toEqual(['notes:read', 'notes:admin']);
      expect(bearerOf(await call(undefined, { url }))?.scope).toEqual(['notes:read', 'notes:admin']);
      expect((await call(await tokenOf(key, { scope: 'notes:read notes:admin' }), { url })).status).toBe(200);
    },
  );

  it.each([
    ['the same', { 'mcp-method': 'tools/call', 'mcp-name': 'add-note' }, 200],
    ['another method', { 'mcp-method': 'tools/list' }, 400],
    ['another tool', { 'mcp-method': 'tools/call', 'mcp-name': 'list-notes' }, 400],
    ['a tool in a broken encoding', { 'mcp-name': '=?base64?%?=' }, 400],
  ])('RS-13: are checked for what the body says: its headers name %s', async (_what, headers, status) => {
    const { call } = rig(new Issuer(key), { operations });
    const wide = await tokenOf(key, { scope: 'notes:read notes:write' });
    const answer = await call(wide, { headers, body: JSON.stringify({ ...addNote, id: 7 }) });
    expect(answer.status).toBe(status);
    if (status === 400) expect(await answer.json()).toMatchObject({ id: 7, error: { code: -32_020 } });
  });

  it.each([
    ['no JSON', '{', 400],
    ['nothing', '', 400],
    ['too long', `"${'x'.repeat(100)}"`, 413],
  ])('can’t be read from a body that is %s', async (_what, body, status) => {
    const { call, handled } = rig(new Issuer(key), { operations, maxBodyBytes: 100 });
    expect((await call(token, { body })).status).toBe(status);
    expect(handled).toEqual([]);
  });

  it.each([
    ['a text', 'tools/call', -32_600],
    ['an object without a method', { params: { name: 'add-note' } }, -32_600],
    ['a batch in a batch', [[addNote]], -32_600],
    ['a batch with something else in it', [message('ping'), 'x'], -32_600],
    ['a message with parameters by position', { ...addNote, params: ['add-note'] }, -32_602],
    ['a tool named by a list', message('tools/call', { name: ['add-note'] }), -32_602],
    ['a resource named by an object', message('resources/read', { uri: {} }), -32_602],
    ['a completion for a prompt and a list', complete({ name: 'other', uri: ['notes://secret'] }), -32_602],
    ['a subscription to a list of lists', listen({ resourceSubscriptions: [['notes://secret']] }), -32_602],
    ['more than a thousand messages', Array.from({ length: 1001 }, () => message('ping')), -32_600],
  ])('RS-20: can’t be got around by %s', async (_what, body, code) => {
    const { call, handled } = rig(new Issuer(key), { operations });
    const answer = await call(token, { body: JSON.stringify(body) });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ jsonrpc: '2.0', error: expect.objectContaining({ code }) }),
    ]);
    expect(handled).toEqual([]);
  });

  it.each([
    ['an answer of the client', { jsonrpc: '2.0', id: 1, result: {} }],
    ['a batch of answers and requests', [{ jsonrpc: '2.0', id: 1, result: {} }, message('ping')]],
    ['a subscription to no resource', listen({ toolsListChanged: true })],
  ])('RS-20: of operations aren’t needed for %s', async (_what, body) => {
    expect(
      (await rig(new Issuer(key), { operations }).call(token, { body: JSON.stringify(body) })).status,
    ).toBe(200);
  });
});
