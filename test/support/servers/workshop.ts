/**
 * What a world's MCP server can offer besides notebooks: tools that ask back, open a page, wait or answer at length,
 * resources and prompts, in sessions. A tool is counted by its caller's key before it does anything.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { type CallToolResult, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import type { Request, Response } from 'express';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/** The page that two of the tools want opened. The middle letter of its host is Cyrillic. */
export const payPage = {
  url: 'https://p\u0430y.example/checkout?order=7',
  message: '<b>Pay</b> first, at https://bank.example',
};

const page = { mode: 'url', elicitationId: 'e1', ...payPage } as const;

/** Bytes: messages of 8 MB, with room for their frame. */
const limit = 16 * 1024 * 1024;

const key = z.string();

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

export function workshop() {
  const runs = new Map<string, number>();
  const cancelled = new Set<string>();
  const waiting = new Map<string, () => void>();
  const sessions = new Map<string, StreamableHTTPServerTransport>();

  const count = (one: string): void => void runs.set(one, (runs.get(one) ?? 0) + 1);

  const make = (): McpServer => {
    const server = new McpServer({ name: 'workshop', version: '1.0.0' });
    const { server: peer } = server;
    server.registerTool('echo', { inputSchema: { key, text: z.string() } }, (call) => {
      count(call.key);
      return text(call.text);
    });
    server.registerTool('repeat', { inputSchema: { key, times: z.number() } }, (call) => {
      count(call.key);
      return text('x'.repeat(call.times));
    });
    server.registerTool('wait', { inputSchema: { key } }, async (call, { signal }) => {
      count(call.key);
      await new Promise<void>((resolve) => {
        waiting.set(call.key, resolve);
        signal.addEventListener('abort', () => {
          cancelled.add(call.key);
          resolve();
        });
      });
      return text('waited');
    });
    // A tool that needs a scope of its own (mcp-server.ts).
    server.registerTool('add-note', { inputSchema: { note: z.string() } }, ({ note }) => {
      count(note);
      return text(`added ${note}`);
    });
    server.registerTool('ask-person', { inputSchema: { key } }, async (call, { requestId }) => {
      count(call.key);
      const { action, content } = await peer.elicitInput(
        {
          message: 'Which colour?',
          requestedSchema: { type: 'object', properties: { colour: { type: 'string' } } },
        },
        { relatedRequestId: requestId },
      );
      return text(`${action} ${String(content?.['colour'])}`);
    });
    server.registerTool('ask-model', { inputSchema: { key } }, async (call, { requestId }) => {
      count(call.key);
      const { content } = await peer.createMessage(
        { maxTokens: 8, messages: [{ role: 'user', content: { type: 'text', text: 'Say hello' } }] },
        { relatedRequestId: requestId },
      );
      return text(JSON.stringify(content));
    });
    server.registerTool('pay', {}, async ({ requestId }) => {
      count('pay');
      const { action } = await peer.elicitInput(page, { relatedRequestId: requestId });
      return text(action);
    });
    server.registerTool('unpaid', {}, () => {
      count('unpaid');
      throw new UrlElicitationRequiredError([page]);
    });
    server.registerResource('wood', 'workshop://wood', {}, (uri) => ({
      contents: [{ uri: uri.href, text: 'oak' }],
    }));
    server.registerPrompt('plan', { argsSchema: { thing: z.string() } }, ({ thing }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Plan a ${thing}.` } }],
    }));
    return server;
  };

  return {
    limit,
    /** How often a tool ran with this key. */
    ran: (one: string) => runs.get(one) ?? 0,
    /** How many keys ran more than once. */
    get doubled() {
      return [...runs.values()].filter((times) => times > 1).length;
    },
    /** Calls of `wait` that their client has cancelled. */
    cancelled,
    /** Lets the call of `wait` with this key answer. */
    release: (one: string) => waiting.get(one)?.(),
    /** Forgets every session, as a restart does. */
    forget() {
      const lost = [...sessions.values()];
      sessions.clear();
      for (const transport of lost) void transport.close();
    },
    async answer(request: Request, response: Response) {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      if (known) return known.handleRequest(request, response, request.body);
      if (id !== undefined) return void response.status(404).json({ error: 'no such session' });
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (made) => void sessions.set(made, transport),
        onsessionclosed: (ended) => void sessions.delete(ended),
      });
      await make().connect(transport);
      return transport.handleRequest(request, response, request.body);
    },
  };
}
