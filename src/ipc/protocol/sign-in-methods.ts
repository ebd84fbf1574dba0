/** The methods about sign-ins: what there is, its end, and a new one that the user starts. */
import * as z from 'zod';

import { ownersEnd } from './method.ts';
import type { Method } from './method.ts';
import { explanation, signIn, signInNamed, receipt } from './schemas/sign-in-schema.ts';
import { loginAnswer, loginStart } from './schemas/request-schema.ts';
import { empty, url } from './schemas/values.ts';

export const signInMethods = {
  'signIn.list': {
    who: 'any',
    effect: 'reads',
    showsRecords: true,
    isPolled: true,
    params: empty,
    result: z.object({ signIns: z.array(signIn) }),
  },
  'signIn.show': {
    who: 'any',
    effect: 'reads',
    showsRecords: true,
    params: signInNamed,
    result: z.object({ signIns: z.array(explanation) }),
  },
  'signIn.revoke': {
    ...ownersEnd,
    mayPrompt: true,
    clientHint:
      'Other apps may use the sign-in. permission.release ends this app’s own permission; the user revokes with: keyturn logout URL',
    params: signInNamed,
    result: z.object({ revoked: z.array(receipt) }),
  },
  'signIn.start': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    signsIn: true,
    mayPrompt: true,
    params: loginStart,
    result: z.object({ signIn }),
  },
  /** Where a sign-in would go, for the client that the user registered there by hand. */
  'signIn.issuer': {
    who: 'owner',
    effect: 'reads',
    usesRecords: true,
    params: loginStart.pick({ resource: true, issuer: true }),
    result: z.object({ issuer: url, wasShown: z.boolean() }),
  },
  'signIn.answer': {
    who: 'owner',
    // While the app runs, this is its caller's own sign-in, which a card allowed: another client in it is registered at
    // the same server.
    effect: 'asks',
    signsIn: true,
    params: loginAnswer,
    result: empty,
  },
} as const satisfies Record<string, Method>;
