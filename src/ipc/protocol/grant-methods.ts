/** The methods about grants: what there is, its end, a sign-in that the owner starts, and moves to another machine. */
import * as z from 'zod';

import type { Method } from './method.ts';
import { explanation, grant, grantNamed, moving, receipt } from './schemas/grant-schema.ts';
import { loginAnswer, loginStart } from './schemas/interaction-schema.ts';
import { empty } from './schemas/values.ts';

/** Of the methods that move grants from or to another machine. */
const ownersMove = { who: 'owner', effect: 'widens', usesRecords: true, mayPrompt: true } as const;

export const grantMethods = {
  'grant.list': {
    who: 'any',
    effect: 'reads',
    isPolled: true,
    params: empty,
    result: z.object({ grants: z.array(grant) }),
  },
  'grant.explain': {
    who: 'any',
    effect: 'reads',
    params: grantNamed,
    result: z.object({ grants: z.array(explanation) }),
  },
  'grant.revoke': {
    who: 'owner',
    effect: 'narrows',
    mayPrompt: true,
    clientHint:
      'Other programs may use the grant. permission.release ends this program’s own permission; the person revokes with: keyturn revoke RESOURCE',
    params: grantNamed,
    result: z.object({ revoked: z.array(receipt) }),
  },
  /** Every grant that can move is marked as moved, and no longer refreshed here. */
  'grant.export': { ...ownersMove, ...moving.export },
  'grant.import': { ...ownersMove, ...moving.import },
  /** The grants that were exported are refreshed here again. */
  'grant.takeBack': { ...ownersMove, ...moving.takeBack },
  'login.start': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    signsIn: true,
    mayPrompt: true,
    params: loginStart,
    result: z.object({ grant }),
  },
  'login.answer': {
    who: 'owner',
    // At a desk this is its caller's own sign-in, which a card allowed: another client in it is registered at the
    // same server.
    effect: 'asks',
    signsIn: true,
    params: loginAnswer,
    result: empty,
  },
} as const satisfies Record<string, Method>;
