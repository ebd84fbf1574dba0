/**
 * The binding of a grant, which the vault keeps: everything that decides where the grant's tokens go and who may get
 * access tokens from it.
 *
 * Invariants: a binding is in the vault beside the tokens, and is written before the index. The index of grants is for
 * look-up and display: if the two differ, the binding counts. A revocation counts if either of them has it; only a
 * later sign-in undoes it.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isWithin } from '../../oauth/base/scope.ts';
import type { ProofJwk } from '../../oauth/client/proof-key.ts';
import { grantSchema } from '../records/grant.ts';
import type { Grant, GrantState } from '../records/grant.ts';

const boundFields = {
  endpoints: true,
  resource: true,
  issuer: true,
  account: true,
  subject: true,
  purpose: true,
  registrationId: true,
  server: true,
  scope: true,
  lostScope: true,
  requestedScope: true,
  createdAt: true,
} as const;

const boundSchema = grantSchema.pick(boundFields);

export const bindingSchema = boundSchema.extend({
  /** The generation of the grant's record that was written to the index with this binding. */
  generation: z.number().int().nonnegative(),
  /** When somebody last signed in for it (milliseconds, as all times here). */
  signedInAt: z.number().optional(),
  /** When the user ended it. */
  revokedAt: z.number().optional(),
  /** The address or user name of the person at the issuer. It is sent to that issuer only. */
  loginHint: z.string().optional(),
});

export type Binding = Readonly<z.infer<typeof bindingSchema>>;

type Bound = z.infer<typeof boundSchema>;

function boundOf(of: Bound): Bound {
  const { endpoints, resource, issuer, account, subject, registrationId, server, purpose } = of;
  const { scope, lostScope, requestedScope, createdAt } = of;
  const source = server === undefined ? {} : { server };
  const whose = purpose === undefined ? {} : { purpose };
  const identity = { endpoints, resource, issuer, account, subject, ...whose };
  const lost = lostScope === undefined ? {} : { lostScope };
  return { ...identity, registrationId, ...source, scope, ...lost, requestedScope, createdAt };
}

/** A binding made from a record of the index, for a grant whose item is lost. */
export function bindingOf(grant: Grant): Binding {
  const { generation, signedInAt, state } = grant;
  return {
    ...boundOf(grant),
    generation,
    ...(signedInAt === undefined ? {} : { signedInAt }),
    ...(state.kind === 'revoked' ? { revokedAt: state.endedAt } : {}),
  };
}

/** The same literal scopes in any order. */
export function isSameScope(a: readonly string[], b: readonly string[]): boolean {
  return isWithin(a, b) && isWithin(b, a);
}

/** The parts of a grant's item that the index repeats. */
export interface VaultFacts {
  readonly binding: Binding;
  readonly refreshToken?: string | undefined;
  readonly proofKey?: ProofJwk | undefined;
}

export interface Verdict {
  /** The record as the vault has it. */
  readonly record: Omit<Grant, 'generation'>;
  /** Higher than the generation of the record and of the binding. */
  readonly generation: number;
  /** Fields whose value in the index was wrong; empty if none was. */
  readonly differing: readonly string[];
}

/** Compares a record of the index with the vault's item; `record` is undefined where the index has none. */
export function compared(id: string, record: Grant | undefined, facts: VaultFacts): Verdict {
  const { binding, refreshToken, proofKey } = facts;
  const state = stateBy(binding, record);
  const known = record ?? { ...boundOf(binding), id, state, hasRefreshToken: false, generation: 0 };
  const { generation, ...fields } = {
    ...known,
    ...boundOf(binding),
    // What the binding leaves out counts as absent in the record too.
    server: binding.server,
    purpose: binding.purpose,
    lostScope: binding.lostScope,
    isKeyBound: proofKey ? true : undefined,
    state,
    signedInAt: record?.signedInAt ?? binding.signedInAt,
    // While a revocation waits, the item may have lost the refresh token that the request named.
    hasRefreshToken:
      record?.state.kind === 'revoked' && state.kind === 'revoked'
        ? record.hasRefreshToken
        : refreshToken !== undefined,
  };
  return {
    record: fields,
    generation: Math.max(generation, binding.generation) + 1,
    differing: record ? differing(record, { ...fields, generation }) : ['id'],
  };
}

const compares = [
  ...Object.keys(boundFields),
  'state',
  'hasRefreshToken',
  'isKeyBound',
] as const as readonly (keyof Grant)[];

function differing(record: Grant, vouched: Grant): string[] {
  return compares.filter((field) => {
    if (field === 'scope' || field === 'requestedScope') return !isSameScope(record[field], vouched[field]);
    return !isDeepStrictEqual(record[field], vouched[field]);
  });
}

/** The state that the vault's binding gives the record. */
function stateBy(binding: Binding, record: Grant | undefined): GrantState {
  const { revokedAt } = binding;
  if (revokedAt !== undefined) return revoked(record, revokedAt);
  if (record?.state.kind === 'revoked' && !isOlder(record, record.state.endedAt, binding)) {
    return revoked(record, record.state.endedAt);
  }
  // After a crash, or with an older file, the index may lack a sign-in that the vault has.
  return record && record.generation >= binding.generation ? record.state : { kind: 'active' };
}

/** The vault still has its tokens, so some are not revoked, even if the index shows another receipt. */
function revoked(record: Grant | undefined, endedAt: number): GrantState {
  const pending = record?.state.kind === 'revoked' && record.state.receipt === 'pending';
  return pending ? record.state : { kind: 'revoked', receipt: 'pending', endedAt };
}

/** True if somebody signed in after the revocation. If that is uncertain, the revocation counts. */
function isOlder({ generation }: Grant, endedAt: number, binding: Binding): boolean {
  return generation < binding.generation && endedAt < (binding.signedInAt ?? 0);
}
