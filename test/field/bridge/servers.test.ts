/** Servers as people have them, from public reports about bridges and clients of the protocol. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { until } from '../../support/home.ts';
import { begun, client } from './client.ts';
import { data, events, json, type Message, plain, result, serve } from './server.ts';

const count = (log: readonly string[], line: string): number => log.filter((each) => each === line).length;

describe('sessions', () => {
  it.each([0, 1])('begins none without end after %i listening streams and then 404', async (streams) => {
    let gets = 0;
    const { url, log } = await serve((request, response, message) => {
      if (request.method === 'GET') {
        gets += 1;
        if (gets > streams) return json(response, 404, {});
        events(response, ': hello\n\n');
        return void response.end();
      }
      if (message.method === 'initialize') response.setHeader('mcp-session-id', randomUUID());
      plain(request, response, message);
    });
    const { call } = await begun(url);
    await expect.poll(() => gets).toBe(1 + 2 * streams);
    expect((await call(1)).result).toBeDefined();
    expect(count(log, 'POST initialize')).toBe(1 + streams);
    expect(count(log, 'DELETE')).toBe(streams);
  });

  it.each([
    [400, 'Bad Request: No valid session ID provided'],
    [400, 'Bad Request: Server not initialized'],
    [401, 'Unauthorized: Session not found'],
    [404, 'Session not found'],
    [409, 'unknown session'],
    [410, 'Session terminated'],
    [503, 'Service Unavailable: MCP session is unknown on this API instance.'],
  ])('begins a new one after %i "%s", and each call runs once', async (status, words) => {
    let live = '';
    let ran = 0;
    const tokens = new Set<unknown>();
    const { url, log } = await serve((request, response, message) => {
      tokens.add(request.headers.authorization);
      if (message.method === 'initialize') response.setHeader('mcp-session-id', (live = randomUUID()));
      else if (request.method === 'POST' && request.headers['mcp-session-id'] !== live)
        return json(response, status, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: words } });
      if (message.method === 'tools/call') ran += 1;
      plain(request, response, message);
    });
    const { call } = await begun(url);
    expect((await call(1)).result).toBeDefined();
    live = '';
    expect((await call(2)).result).toBeDefined();
    expect(ran).toBe(2);
    expect(tokens.size).toBe(1);
    expect(count(log, 'POST initialize')).toBe(2);
  });

  const supported = { supported: ['2024-11-05', '2025-06-18'] };
  const ofVersions: readonly (readonly [number, string | object])[] = [
    [400, 'Unsupported protocol version (supported versions: 2025-06-18, 2024-11-05)'],
    [200, { error: { code: -32_602, message: 'Unsupported protocol version', data: supported } }],
  ];
  it.each(ofVersions)('begins in the revision that a refusal names: %i %j', async (status, refusal) => {
    const { url } = await serve((request, response, message) => {
      if ((message.params?.['protocolVersion'] ?? '') <= '2025-06-18')
        return plain(request, response, message);
      const own = typeof refusal === 'string' ? refusal : { jsonrpc: '2.0', id: message.id, ...refusal };
      json(response, status, own);
    });
    const { begin, call } = await client(url);
    expect((await begin('2025-11-25')).result).toMatchObject({ protocolVersion: '2025-06-18' });
    expect((await call(1)).result).toBeDefined();
  });

  it('keeps them behind a balancer that sticks by its cookie', async () => {
    const sessions = [new Set<string>(), new Set<string>()];
    let turn = 0;
    const { url } = await serve((request, response, message) => {
      const stuck = /LB=(\d)/.exec(request.headers.cookie ?? '')?.[1];
      turn += 1;
      const at = Number(stuck ?? turn % 2);
      if (stuck === undefined) response.setHeader('set-cookie', `LB=${at}; Path=/; HttpOnly`);
      const id = randomUUID();
      if (message.method === 'initialize') {
        sessions[at]?.add(id);
        response.setHeader('mcp-session-id', id);
      } else if (!sessions[at]?.has(String(request.headers['mcp-session-id'])))
        return json(response, 404, {});
      plain(request, response, message);
    });
    const { call, lines } = await begun(url);
    for (const id of [1, 2, 3]) expect((await call(id)).result).toBeDefined();
    expect(lines.join('')).not.toContain('LB');
  });
});

describe('answers', () => {
  const forms: Readonly<Record<string, (answer: object, id: unknown) => object>> = {
    'error: null beside the result': (answer) => ({ ...answer, error: null }),
    'a further member': (answer) => ({ ...answer, sessionId: 'x' }),
    'the id as text': (answer, id) => ({ ...answer, id: String(id) }),
    'no id': (answer) => ({ ...answer, id: null }),
    'no version': (answer) => ({ ...answer, jsonrpc: undefined }),
    'an error with id null': () => ({ jsonrpc: '2.0', id: null, error: { code: -32_602, message: 'bad x' } }),
    'a code as text': (_answer, id) => ({ jsonrpc: '2.0', id, error: { code: 'BAD', message: 'bad x' } }),
    'no message at all': (_answer, id) => ({ id, status: 'bad x' }),
    'an id that nobody sent': () => ({ jsonrpc: '2.0', id: 'other', error: { code: 1, message: 'bad x' } }),
  };

  it.each(Object.entries(forms))('passes on or quotes: %s', async (_what, form) => {
    let way = 'json';
    const { url } = await serve((request, response, message) => {
      if (message.method !== 'tools/call') return plain(request, response, message);
      const answer = form(result(message), message.id);
      if (way === 'json') return json(response, 200, answer);
      events(response, data(answer));
      if (way === 'closed') response.end();
    });
    const { call } = await begun(url);
    for (way of ['json', 'closed', 'open']) {
      const { result: given, error } = await call(way);
      expect(JSON.stringify(given ?? error)).toMatch(/done|bad x/);
    }
  });

  const words = 'argument "from" must be a date';
  const error = { code: -32_602, message: words };
  const refusals: Readonly<Record<string, (response: ServerResponse) => void>> = {
    '400, id null': (response) => json(response, 400, { jsonrpc: '2.0', id: null, error }),
    '422, JSON': (response) => json(response, 422, { detail: words }),
    '409, text': (response) => void response.writeHead(409).end(words),
    '403, JSON': (response) => json(response, 403, { detail: words }),
    '500, id null': (response) => json(response, 500, { jsonrpc: '2.0', id: null, error }),
    '503, pause': (response) => json(response, 503, words, { 'retry-after': '30' }),
  };

  it.each(Object.entries(refusals))('quotes what the server says with %s', async (name, refuse) => {
    const { url } = await serve((request, response, message) =>
      message.method === 'tools/call' ? refuse(response) : plain(request, response, message),
    );
    const { call } = await begun(url);
    const refused = await call(1);
    expect(JSON.stringify(refused)).toContain('must be a date');
    if (name.includes('pause')) expect(refused.error?.data).toMatchObject({ retryAfter: 30 });
  });

  it('quotes no token that the server repeats', async () => {
    const { url } = await serve((request, response, message) =>
      message.method === 'tools/call'
        ? json(response, 422, { got: request.headers.authorization })
        : plain(request, response, message),
    );
    const { call } = await begun(url);
    expect(JSON.stringify(await call(1))).not.toContain('secret-1');
  });

  it('goes on after the last event of a stream that is cut twice', async () => {
    const named: unknown[] = [];
    const { url } = await serve((request, response, message) => {
      const last = request.headers['last-event-id'];
      if (request.method === 'GET' && last !== undefined) {
        named.push(last);
        if (named.length === 1) events(response, ': still working\n\n');
        else events(response, `id: e9\n${data({ ...result({ method: 'tools/call' }), id: 1 })}`);
        return void response.end();
      }
      if (message.method !== 'tools/call') return plain(request, response, message);
      events(response, 'id: e1\n\n');
      response.end();
    });
    const { begin, call } = await client(url);
    await begin('2025-11-25');
    expect((await call(1)).result).toBeDefined();
    expect(named).toEqual(['e1', 'e1']);
  });

  it.each([307, 308, 301, 302])('follows a redirect %i that adds or drops a slash', async (status) => {
    for (const end of ['', '/']) {
      const { url } = await serve((request, response, message) => {
        const path = request.url ?? '';
        if (path.endsWith('/') !== (end === '/'))
          return void response.writeHead(status, { location: `/mcp${end}` }).end();
        plain(request, response, message);
      });
      if (end === '') url.pathname = '/mcp/';
      const { hello } = await client(url);
      expect((await hello()).result).toBeDefined();
    }
  });
});

it.each(['gzip', 'br', 'zstd'])(
  'says that an answer is not in the coding %s of its header',
  async (coding) => {
    const { url } = await serve((request, response, message) => {
      if (message.method !== 'tools/call') return plain(request, response, message);
      json(response, 200, result(message), { 'content-encoding': coding });
    });
    const { call } = await begun(url);
    expect((await call(1)).error?.message).toContain('is not in the coding that its Content-Encoding names');
  },
);

describe('the older transport', () => {
  const posts: Readonly<Record<string, (response: ServerResponse, open: () => void) => void>> = {
    ...Object.fromEntries(
      [400, 403, 404, 405, 410, 411, 422, 500, 501].map((status) => [
        String(status),
        (response: ServerResponse) => json(response, status, {}),
      ]),
    ),
    'the stream itself': (_response, open) => open(),
    text: (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok'),
  };

  const old = async (
    onPost: (response: ServerResponse, open: () => void) => void,
    accept = (response: ServerResponse, answer: () => void): void => {
      response.writeHead(202).end('Accepted');
      answer();
    },
  ) => {
    let stream: ServerResponse | undefined;
    return serve((request, response, message: Message) => {
      const open = (): void => {
        events(response, 'event: endpoint\ndata: /mcp/messages?s=1\n\n');
        stream = response;
      };
      if (request.url?.startsWith('/mcp/messages')) {
        accept(response, () => message.id !== undefined && stream?.write(data(result(message))));
      } else if (request.method === 'GET') open();
      else onPost(response, open);
    });
  };

  it.each(Object.entries(posts))('is found behind a POST that is answered with %s', async (_what, onPost) => {
    const { url } = await old(onPost);
    const { begin, call } = await client(url);
    expect((await begin()).result).toBeDefined();
    expect((await call(1)).result).toBeDefined();
  });

  it('answers though each POST breaks after the head of its answer', async () => {
    const cut = (response: ServerResponse, answer: () => void): void => {
      response.once('close', () => void setTimeout(answer, 50));
      response.writeHead(202).write('Acc', () => response.destroy());
    };
    const { url } = await old((response) => json(response, 405, {}), cut);
    const { begin, call } = await client(url);
    expect((await begin()).result).toBeDefined();
    expect((await call(1)).result).toBeDefined();
  });

  it.each(['sse-only', 'sse-first'] as const)('is used without a POST by %s', async (transport) => {
    const { url, log } = await old((response) => json(response, 405, {}));
    expect((await (await client(url, transport)).hello()).result).toBeDefined();
    expect(log[0]).toBe('GET');
  });

  it.each([true, false])(
    'is not meant by an event of a newer server that answered (a session: %s)',
    async (hasSession) => {
      const { url, log } = await serve((request, response, message) => {
        if (hasSession && message.method === 'initialize') response.setHeader('mcp-session-id', 's');
        if (message.id === undefined) return plain(request, response, message);
        const address = 'event: endpoint\ndata: /mcp\n\n';
        const answer = data(result(message));
        if (message.method === 'initialize' && !hasSession) events(response, answer, address);
        else events(response, address, answer);
        response.end();
      });
      const { begin, call } = await client(url);
      expect((await begin()).result).toBeDefined();
      expect((await call(1)).result).toBeDefined();
      expect(count(log, 'POST initialize')).toBe(1);
    },
  );

  it('is not opened again and again if its stream ends before the handshake', async () => {
    const { url, log } = await serve((request, response) => {
      const error = { code: -32_603, message: 'Unknown sessionId' };
      if (request.method !== 'GET') return json(response, 404, { jsonrpc: '2.0', id: null, error });
      events(response, 'event: endpoint\ndata: /mcp/messages\n\n');
      setTimeout(() => response.end(), 10);
    });
    const { hello } = await client(url, 'sse-only');
    expect((await hello()).error).toBeDefined();
    await sleep(500);
    expect(count(log, 'GET')).toBeLessThan(10);
  });

  it('names an address for messages that is elsewhere', async () => {
    const { url } = await serve((request, response) =>
      request.method === 'GET'
        ? events(response, 'event: endpoint\ndata: http://internal.invalid:8000/messages\n\n')
        : json(response, 405, {}),
    );
    const { error } = await (await client(url)).hello();
    expect(error?.message).toMatch(/at another origin \("http:\/\/internal\.invalid:8000"\)/);
  });
});

/** By what reports of clients say that servers answer to a notification, in place of 202. */
const accepted: Readonly<Record<string, (response: ServerResponse) => void>> = {
  null: (response) => json(response, 200, 'null'),
  'an id of null': (response) => json(response, 200, { jsonrpc: '2.0', id: null }),
  'an empty body of JSON': (response) => json(response, 200, ''),
  'an empty list': (response) => json(response, 200, []),
  'a status and JSON': (response) => json(response, 202, { status: 'accepted' }),
  'a text': (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('No response'),
  'a stream without an event': (response) => (events(response), void response.end()),
  '204': (response) => void response.writeHead(204).end(),
};

it.each(Object.entries(accepted))('takes %s in answer to a notification', async (_what, accept) => {
  const { url } = await serve((request, response, message) =>
    message.method !== undefined && message.id === undefined
      ? accept(response)
      : plain(request, response, message),
  );
  const { call, lines, said } = await begun(url);
  expect((await call(1)).result).toBeDefined();
  expect(lines).toHaveLength(2);
  expect(said).toEqual([]);
});

const beats = [
  'data: \n\n',
  'event: ping\ndata: ping\n\n',
  'event: keepalive\ndata: {}\n\n',
  'data: {}\n\n',
  ': ping\n\n',
  'data: {"type":"ping"}\n\n',
];

it.each(beats)('passes over what only keeps a stream open: %j', async (beat) => {
  const { url } = await serve((request, response, message) => {
    if (request.method === 'GET') return events(response, beat);
    if (message.id === undefined) return plain(request, response, message);
    events(response, beat, data(result(message)), beat);
    response.end();
  });
  const { call, lines } = await begun(url);
  expect((await call(1)).result).toBeDefined();
  expect(lines).toHaveLength(2);
});

it.each([202, 200])(
  'takes an answer on the stream on which the server speaks by itself: %i',
  async (status) => {
    let stream: ServerResponse | undefined;
    const { url } = await serve((request, response, message) => {
      if (request.method === 'GET') return events((stream = response), ': open\n\n');
      if (message.method !== 'tools/call') return plain(request, response, message);
      response.writeHead(status, { 'content-type': 'text/event-stream' }).end();
      const speak = (): unknown => (message.id === 1 ? stream?.write(data(result(message))) : stream?.end());
      setTimeout(speak, 50);
    });
    const { begin, call } = await client(url, undefined, async () => sleep(2000));
    await begin();
    await until('the stream is open', () => stream !== undefined);
    expect((await call(1)).result).toBeDefined();
    expect((await call(2)).error).toMatchObject({ data: { outcome: 'may have run' } });
  },
);

it('answers after two 404s of a proxy whose server is being replaced', async () => {
  let missing = 0;
  const { url } = await serve((request, response, message) => {
    if (missing-- > 0) return json(response, 404, '404 page not found');
    plain(request, response, message);
  });
  const { call } = await begun(url);
  missing = 2;
  await call(1);
  missing = 0;
  expect((await call(2)).result).toBeDefined();
});

it('answers what was asked before the end of its input, and ends', async () => {
  const { url } = await serve(plain);
  const { ended, hello, toBridge } = await client(url);
  const answer = hello();
  toBridge.end();
  expect((await answer).result).toBeDefined();
  await ended;
});

it('answers with an error what the server leaves open long after the end of its input', async () => {
  const { url } = await serve(() => undefined);
  const { ended, hello, toBridge } = await client(url, undefined, async () => undefined);
  const answer = hello();
  toBridge.end();
  expect((await answer).error?.message).toContain('may have run');
  await ended;
});
