/** What a local client asks and what it gets. The wire's names are the ipc layer's business. */
import type { BearerChallenge } from '../oauth/challenge.ts';
import { union } from '../oauth/scope.ts';
import type { Asker } from './asker.ts';

export interface TokenRequest {
  /** Who asks, as the socket proved it. */
  readonly clientId: string;
  /** Which of its processes. */
  readonly asker?: Asker;
  /** The protected server's endpoint URL as the user knows it. */
  readonly resource: string;
  readonly scope?: readonly string[];
  readonly account?: string;
  /** Milliseconds the token must still live. */
  readonly minimumValidity?: number;
  /** A challenge the protected server gave the local client: a hint, never an order. */
  readonly challenge?: ClientChallenge;
  /** What the local client was doing, for the step-up limit; e.g. `POST /mcp tools/call`. */
  readonly operation?: string;
  /** `never`: answer at once, open no question and no browser. */
  readonly interaction: 'never' | 'allow';
  /** Milliseconds to wait for the user. */
  readonly timeout: number;
  /** Aborts when the local client went away. */
  readonly signal: AbortSignal;
}

export interface ClientChallenge {
  readonly status: 401 | 403;
  readonly bearer?: BearerChallenge;
}

export interface Token {
  readonly accessToken: string;
  readonly tokenId: string;
  /** Milliseconds, steady. */
  readonly expiresAt: number;
  readonly scope: readonly string[];
  readonly resource: string;
  readonly account: string;
  readonly issuer: string;
}

/** The caller's scopes, and those of an insufficient_scope challenge (RFC 6750 §3.1). */
export function neededScope({ scope = [], challenge }: TokenRequest): string[] {
  return union(scope, isStepUp(challenge) ? (challenge?.bearer?.scope ?? []) : []);
}

function isStepUp(challenge: ClientChallenge | undefined): boolean {
  return challenge?.status === 403 && challenge.bearer?.error === 'insufficient_scope';
}
