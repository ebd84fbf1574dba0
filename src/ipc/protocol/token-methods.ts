/** The methods by which an app gets, rejects and gives up tokens. */
import * as z from 'zod';

import type { Method } from './method.ts';
import { networkGet, networkResult } from './schemas/network-schema.ts';
import {
  keyResult,
  permissionRelease,
  tokenGet,
  tokenProve,
  tokenProveResult,
  tokenReject,
  tokenRejectResult,
  tokenResult,
  urlShow,
  urlShowResult,
} from './schemas/token-schema.ts';
import { empty } from './schemas/values.ts';

export const tokenMethods = {
  'token.get': {
    who: 'app',
    effect: 'asks',
    usesRecords: true,
    params: tokenGet,
    result: z.union([tokenResult, keyResult]),
  },
  /** A proof of the key that a token of this app is bound to, for one request within what it may reach. */
  'token.prove': {
    who: 'app',
    effect: 'reads',
    usesRecords: true,
    params: tokenProve,
    result: tokenProveResult,
  },
  'token.reject': {
    who: 'app',
    effect: 'narrows',
    changesNoList: true,
    params: tokenReject,
    result: tokenRejectResult,
  },
  /** An approval opens an address in the user's browser. It gives nobody access. */
  'url.show': { who: 'app', effect: 'asks', usesRecords: true, params: urlShow, result: urlShowResult },
  /** How the broker itself would reach a server. Holds no secret, and gives nobody access. */
  'network.get': { who: 'app', effect: 'reads', params: networkGet, result: networkResult },
  'permission.release': {
    who: 'app',
    effect: 'narrows',
    usesRecords: true,
    params: permissionRelease,
    result: empty,
  },
} as const satisfies Record<string, Method>;
