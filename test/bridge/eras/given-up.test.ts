/** A stateless client in front of a stateful server: what ends when the client gives up, at each moment. */
import type { JSONRPCRequest } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { enveloped } from '../../../src/bridge/base/envelope.ts';
import { maxQuestions, parkedFor } from '../../../src/bridge/base/limits.ts';
import type { Answer, JSONRPCMessage, RequestId } from '../../../src/bridge/base/messages.ts';
import { Pages } from '../../../src/bridge/pages.ts';
import { StatefulClient } from '../../../src/bridge/eras/stateful-client.ts';
import { StatelessClient } from '../../../src/bridge/eras/stateless-client.ts';
import { Cancelled } from '../../../src/bridge/server/upstream.ts';
import { untilAborted } from '../../../src/base/abort.ts';

type Reply = (request: JSONRPCRequest, signal: AbortSignal) => Promise<Answer>;

/** A stateful server by a script, and all that reached it. */
function scene(reply: Reply) {
  const asked: string[] = [];
  const sent: unknown[] = [];
  const aborted: unknown[] = [];
  const toClient: JSONRPCMessage[] = [];
  const between = new StatelessClient({
    server: {
      request: async (request, signal) => {
        asked.push(request.method);
        if (request.method === 'tools/call')
          signal.addEventListener('abort', () => aborted.push(signal.reason), { once: true });
        return reply(request, signal);
      },
      send: async (message) => void sent.push(message),
    },
    initialized: { capabilities: { logging: {}, resources: { subscribe: true } } },
    toClient: (message) => void toClient.push(message),
  });
  return { between, asked, sent, aborted, toClient };
}

const words = { info: { name: 'a-client', version: '1' }, capabilities: {}, logLevel: 'debug' };

const call = enveloped(
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } },
  words,
);

const silence = async (signal: AbortSignal): Promise<never> =>
  untilAborted(new Promise<never>(() => undefined), signal);

const done = async ({ id }: JSONRPCRequest): Promise<Answer> => ({ jsonrpc: '2.0', id, result: {} });

it('never sends a call that was cancelled while the log level is set', async () => {
  const levels = Promise.withResolvers<void>();
  const { between, asked } = scene(async (request, signal) => {
    if (request.method !== 'logging/setLevel' || asked.length > 1) return done(request);
    levels.resolve();
    return silence(signal);
  });
  const cancel = new AbortController();
  const cancelled = between.request(call, cancel.signal);
  await levels.promise;
  cancel.abort(new Cancelled('no'));
  await expect(cancelled).rejects.toThrow(Cancelled);
  expect(asked).toEqual(['logging/setLevel']);
  await between.request({ ...call, id: 2 }, new AbortController().signal);
  expect(asked.slice(1)).toEqual(['logging/setLevel', 'tools/call']);
});

it('answers the questions of an abandoned call, and cancels it', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { between, sent, aborted } = scene(async (request, signal) =>
    request.method === 'tools/call' ? silence(signal) : done(request),
  );
  const asking = between.request(call, new AbortController().signal);
  await vi.advanceTimersByTimeAsync(1);
  between.heard({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} }, undefined);
  expect(await asking).toMatchObject({ result: { resultType: 'input_required' } });
  await vi.advanceTimersByTimeAsync(parkedFor);
  expect(sent).toMatchObject([{ id: 'q', error: { message: 'The client gave no answer.' } }]);
  expect(aborted).toEqual([expect.any(Cancelled)]);
});

it('cancels a call whose question waits, if its client cancels it then', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { between, aborted } = scene(async (request, signal) =>
    request.method === 'tools/call' ? silence(signal) : done(request),
  );
  const cancel = new AbortController();
  const asking = between.request(call, cancel.signal);
  await vi.advanceTimersByTimeAsync(1);
  between.heard({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} }, undefined);
  await asking;
  cancel.abort(new Cancelled('no'));
  expect(aborted).toEqual([expect.any(Cancelled)]);
});

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: { elicitation: { url: {} } } },
} as const;

/** What is asked of a client or its user, and answered, if a server answers each request with `count` questions. */
async function questioned(count: number, hasPages: boolean) {
  const seen = { questions: 0, answers: 0, error: '' };
  const params = { mode: 'url', url: 'https://pay.example', message: '?' };
  const question = { method: 'elicitation/create', params };
  const inputRequests = Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, question]));
  const server = {
    request: async ({ id, params: { inputResponses } = {} }: JSONRPCRequest): Promise<Answer> => {
      if (inputResponses !== undefined) seen.answers += 1;
      return { jsonrpc: '2.0', id, result: { resultType: 'input_required', inputRequests } };
    },
    send: async () => undefined,
  };
  const toClient = ({ id }: JSONRPCMessage & { readonly id?: RequestId }): void => {
    seen.questions += 1;
    void between.send({ jsonrpc: '2.0', id: id ?? '', result: { action: 'accept' } });
  };
  const show = async () => {
    seen.questions += 1;
    return { url: params.url, action: 'accept' } as const;
  };
  const time = { sleep: async () => undefined, now: () => 0 };
  const between = hasPages
    ? new Pages({ server, toClient, shown: { show } })
    : new StatefulClient({ server, discovered: { capabilities: {} }, initialize, toClient, time });
  const answer = await between.request(call, new AbortController().signal);
  return { ...seen, error: 'error' in answer ? answer.error.message : '' };
}

it.each([
  ['no more at once than the bridge keeps', maxQuestions + 1, false, 0, '256 questions'],
  ['ten times', 1, false, 10, 'has answered ten times'],
  ['ten times by pages', 1, true, 10, 'has answered ten times'],
])('asks %s, and passes on every answer', async (_what, count, hasPages, questions, error) => {
  const seen = { questions, answers: questions, error: expect.stringContaining(error) };
  expect(await questioned(count, hasPages)).toEqual(seen);
});
