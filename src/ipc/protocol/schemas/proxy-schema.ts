/**
 * Proxies as schemas of the wire.
 *
 * Invariant: every string has a maximum length. Only the user gets the address of a proxy.
 */
import * as z from 'zod';
import { maxLength } from '../../wire/limits.ts';
import { id, instant, url } from './values.ts';

/** As it can be in a command. */
const proxyName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/);

/** Below these, ports belong to the system. */
const lowestPort = 1024;
const highestPort = 65_535;

const proxyPort = z.int().min(lowestPort).max(highestPort);

/**
 * `starting`: its process has not said anything yet. `portTaken`: another program listens there. `ended`: its process
 * ended again and again.
 */
const proxyState = z.literal(['open', 'starting', 'portTaken', 'failed', 'ended']);

export const proxy = z.object({
  id,
  name: proxyName,
  resource: url,
  port: z.int(),
  /** What a client is configured with. Any program of the user that knows it may ask. */
  url,
  state: proxyState,
  /** When it was last used; absent: never, as far as the broker remembers. */
  lastUsedAt: instant.optional(),
});

export const proxyAdd = z.object({ resource: url, name: proxyName.optional(), port: proxyPort.optional() });

/** What `status` says of a proxy, verified or not: everything but its address. */
export const proxyStanding = proxy.omit({ id: true, url: true }).extend({ id: z.string().max(maxLength.id) });

/** A name, an id, or the endpoint. */
export const proxyNamed = z.object({ proxy: z.string().min(1).max(2048) });
