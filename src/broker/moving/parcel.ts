/**
 * What moves from one machine to another: grants with their tokens, the clients of ours that these were issued to, and
 * settings.
 *
 * Invariant: a parcel holds secrets, so it leaves the broker sealed only (daemon/moving/sealed-parcel.ts). It names no
 * permission, no program and no key of a machine.
 */
import { z } from 'zod';
import { maxUrlLength } from '../../oauth/base/resource.ts';
import { formatScope, maxScopeLength } from '../../oauth/base/scope.ts';
import { proofJwkSchema } from '../../oauth/client/proof-key.ts';
import { secretSchema } from '../grants/grant-secret.ts';
import { bindingSchema } from '../grants/grant-binding.ts';
import { grantSchema } from '../records/grant.ts';
import { registrationRecordSchema } from '../records/registrations.ts';

/** A grant with longer names, or other times, would make the list of grants unreadable, and hide every other one. */
const listed = {
  /** Milliseconds; at most the largest date of JavaScript. */
  time: z.number().nonnegative().max(8.64e15),
  url: z.string().max(maxUrlLength),
  account: z.string().max(256),
  scope: z.array(z.string()).refine((scope) => formatScope(scope).length <= maxScopeLength),
} as const;

const movedGrantSchema = z.object({
  /** Its id on the machine that it comes from. */
  id: grantSchema.shape.id,
  secret: secretSchema.extend({
    refreshToken: z.string(),
    // A key in a token of the other machine is out of reach here, and a file must not name a module to load.
    proofKey: proofJwkSchema.optional(),
    binding: bindingSchema
      .omit({ generation: true, purpose: true, origin: true, revokedAt: true, movedAt: true })
      .extend({
        endpoints: z.array(listed.url).min(1),
        resource: listed.url,
        issuer: listed.url,
        account: listed.account,
        scope: listed.scope,
        createdAt: listed.time,
        signedInAt: listed.time.optional(),
      }),
  }),
  ...grantSchema.pick({ offline: true }).shape,
  liveUntil: listed.time.optional(),
});

export const parcelSchema = z.object({
  /** 16 random bytes, hex: which export it is. */
  id: z.string().regex(/^[0-9a-f]{32}$/),
  /** By their ids on the machine that they come from. */
  registrations: z.array(
    z.object({
      record: registrationRecordSchema.pick({ id: true, registration: true }),
      secret: z.string().optional(),
    }),
  ),
  grants: z.array(movedGrantSchema),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

export type Parcel = z.infer<typeof parcelSchema>;
export type MovedGrant = Parcel['grants'][number];

/** How a grant of a parcel is recognised where it arrives. */
export const originOf = (parcel: Pick<Parcel, 'id'>, grant: Pick<MovedGrant, 'id'>): string =>
  `${parcel.id}:${grant.id}`;
