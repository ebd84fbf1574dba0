/**
 * The methods about apps: the paired ones, their permissions, the approval requests, the proxies for apps without an
 * app key, and the forwards for apps elsewhere.
 */
import * as z from 'zod';
import { ownersEnd, ownersList, ownersMayWiden, ownersShow, ownersWiden, type Method } from './method.ts';
import { forward, forwardNamed, forwardOpen, pairedApp, permission } from './schemas/app-schema.ts';
import { approvalRequest, usersAnswer } from './schemas/request-schema.ts';
import { proxy, proxyAdd, proxyNamed } from './schemas/proxy-schema.ts';
import { account, empty, shownName, url } from './schemas/values.ts';

/** A name or an id: ids stay unique, names are what people type. */
const app = shownName;

export const appMethods = {
  // Apps, their permissions and approval requests
  'app.list': { ...ownersList, params: empty, result: z.object({ apps: z.array(pairedApp) }) },
  'app.remove': { ...ownersEnd, params: z.object({ app }), result: empty },
  'permission.set': {
    ...ownersMayWiden,
    params: permission.extend({ app, account: account.optional() }),
    result: empty,
  },
  /** It may widen: without a denial, the app may ask again. */
  'permission.revoke': { ...ownersMayWiden, params: z.object({ app, resource: url }), result: empty },
  'request.list': { ...ownersShow, params: empty, result: z.object({ requests: z.array(approvalRequest) }) },
  'request.answer': { who: 'owner', effect: 'mayWiden', params: usersAnswer, result: empty },

  // Proxies: addresses for apps without an app key
  'proxy.add': { ...ownersWiden, params: proxyAdd, result: z.object({ proxy }) },
  'proxy.list': {
    who: 'owner',
    effect: 'reads',
    usesRecords: true,
    params: empty,
    result: z.object({ proxies: z.array(proxy) }),
  },
  /** Gives the proxy a new address. The old one stops working. */
  'proxy.rotate': { ...ownersEnd, params: proxyNamed, result: z.object({ proxy }) },
  /** Removes its app too: each proxy is one app. */
  'proxy.remove': { ...ownersEnd, params: proxyNamed, result: empty },

  // Forwards: sockets for apps of another machine or of a sandbox
  /** It ends with this connection, which then gets `forward.ended`. */
  'forward.open': { ...ownersWiden, params: forwardOpen, result: z.object({ forward }) },
  'forward.list': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    params: empty,
    result: z.object({ forwards: z.array(forward) }),
  },
  'forward.end': { who: 'owner', effect: 'reduces', params: forwardNamed, result: empty },
} as const satisfies Record<string, Method>;
