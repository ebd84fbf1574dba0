/**
 * What a protected server tells its operator: each request that passed or was refused, except for metadata, each
 * outage, and each fault.
 *
 * Invariant: no event holds a token, a proof, a query or a body. What a client chose, such as a tool's name, is bounded
 * and printable.
 */
import { quoted } from '../../base/errors.ts';
import { shownFault } from './base/fault.ts';
import type { Refusal, RefusalReason } from './base/refusal.ts';
import type { Operation } from './requests/message.ts';
import type { Outage, VerifiedToken } from './tokens/token.ts';

export interface RequestEvent {
  readonly kind: 'granted' | 'refused';
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly address?: string;
  readonly reason?: RefusalReason;
  /** The status of a refusal. */
  readonly status?: number;
  /** The cause, if the reason doesn't say it all: the token's issuer or audience, and what was expected. */
  readonly problem?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly clientId?: string;
  readonly scopes?: readonly string[];
  /** Scopes that the request needed. */
  readonly needed?: readonly string[];
  /** `tools/call "add-note"`; the first twenty of a batch. */
  readonly operations?: readonly string[];
}

/** The handler of a request that passed threw, or a function among the options. */
export interface FailureEvent extends Pick<RequestEvent, 'at' | 'method' | 'path'> {
  readonly kind: 'failed';
  readonly problem: string;
}

export type ServerEvent = RequestEvent | Outage | FailureEvent;

/** What is known of a request so far; the pipeline fills it in. */
export interface Course {
  readonly method: string;
  readonly path: string;
  address?: string | undefined;
  token?: VerifiedToken;
  needed?: readonly string[];
  operations?: readonly Operation[];
}

const maxOperations = 20;
const maxPathLength = 500;

export function requestEvent(course: Course, at: number, refusal?: Refusal): RequestEvent {
  const { method, path, address, token, needed, operations } = course;
  return {
    kind: refusal ? 'refused' : 'granted',
    at,
    method,
    path: path.slice(0, maxPathLength),
    address,
    ...(refusal && { reason: refusal.reason, status: refusal.row.status }),
    ...(refusal?.details.problem !== undefined && { problem: refusal.details.problem }),
    ...(token && {
      issuer: token.issuer,
      subject: token.subject,
      clientId: token.clientId,
      scopes: token.scopes,
    }),
    ...(needed && { needed }),
    ...(operations && { operations: operations.slice(0, maxOperations).map(shown) }),
  };
}

export function failureEvent(method: string, path: string, at: number, error: unknown): FailureEvent {
  return { kind: 'failed', at, method, path: path.slice(0, maxPathLength), problem: shownFault(error) };
}

/** A URI is shown without its query, which may be somebody's secret. */
function shown({ method, tool, prompt, resource }: Operation): string {
  const name = tool ?? prompt ?? resource?.replace(/[?#].*$/s, '');
  return name === undefined ? quoted(method).slice(1, -1) : `${quoted(method).slice(1, -1)} ${quoted(name)}`;
}
