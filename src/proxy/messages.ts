/**
 * What the broker and the process of its proxies say to each other, over the channel of `base/system/child.ts`.
 *
 * Invariant: each side parses each message with these schemas before it uses a field.
 */
import { z } from 'zod';
import { maxLength } from '../ipc/wire/limits.ts';

/** Matches one answer to one request. */
const id = z.int().positive();

/** Where a proxy listens. `path`: the unguessable part of its address. */
const entrySchema = z.object({
  id: z.string(),
  port: z.int().positive(),
  path: z.string().min(16),
});
export type ProxyEntry = z.infer<typeof entrySchema>;

const agentSchema = z.object({
  reach: z.enum(['public', 'thisMachine', 'anywhere']),
  authorities: z.string().optional(),
  httpsProxy: z.string().optional(),
  noProxy: z.string().optional(),
  ignoresEnvironment: z.boolean().optional(),
});

/** As which app an address asks for tokens, and what it reaches. */
const admissionSchema = z.object({
  /** The key by which the process asks for this app. */
  identity: z.object({ appId: z.string(), key: z.string(), brokerId: z.string() }),
  socket: z.string(),
  resource: z.string(),
  agent: agentSchema,
});
export type Admission = z.infer<typeof admissionSchema>;

export const orderSchema = z.discriminatedUnion('op', [
  /** The whole list: what is not in it closes. */
  z.object({ op: z.literal('serve'), entries: z.array(entrySchema) }),
  z.object({ op: z.literal('admitted'), id, admission: admissionSchema }),
  z.object({ op: z.literal('refused'), id, error: z.unknown() }),
  /** `cut`: this app may no longer, so what it has open ends. `forget`: how it connects has changed. */
  z.object({ op: z.literal(['cut', 'forget']), appId: z.string().max(maxLength.id) }),
]);
export type ProxyOrder = z.infer<typeof orderSchema>;

const portStates = ['open', 'portTaken', 'failed'] as const;

/** What became of a port: `portTaken`: another program listens there. */
export type PortState = (typeof portStates)[number];

export const reportSchema = z.discriminatedUnion('op', [
  z.object({ op: z.literal('state'), entry: z.string(), state: z.enum(portStates) }),
  z.object({ op: z.literal('admit'), id, entry: z.string() }),
]);
export type ProxyReport = z.infer<typeof reportSchema>;
