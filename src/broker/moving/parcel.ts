/**
 * What moves from one machine to another: grants with their tokens, the clients of ours that these were issued to, and
 * settings.
 *
 * Invariant: a parcel holds secrets, so it leaves the broker sealed only (daemon/moving/sealed-parcel.ts). It names no
 * permission, no program and no key of a machine.
 */
import { z } from 'zod';
import { softwareKeySchema } from '../../signing/base/signing-key.ts';
import { secretSchema } from '../grants/grant-secret.ts';
import { bindingSchema } from '../grants/grant-binding.ts';
import { grantSchema } from '../records/grant.ts';
import { registrationRecordSchema } from '../records/registrations.ts';

const movedGrantSchema = z.object({
  /** Its id on the machine that it comes from. */
  id: grantSchema.shape.id,
  secret: secretSchema.extend({
    refreshToken: z.string(),
    // A key in a token of the other machine is out of reach here, and a file must not name a module to load.
    proofKey: softwareKeySchema.optional(),
    binding: bindingSchema.omit({
      generation: true,
      purpose: true,
      origin: true,
      revokedAt: true,
      movedAt: true,
    }),
  }),
  ...grantSchema.pick({ offline: true, liveUntil: true }).shape,
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
