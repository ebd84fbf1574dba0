/**
 * WWW-Authenticate, as this server writes it (RFC 6750 §3, RFC 9728 §5.1, RFC 9449 §7.1).
 *
 * Invariant: every value is a well-formed quoted-string. The Bearer challenge is first, since some clients read
 * no further.
 */
import { formatScope } from '../../../oauth/base/scope.ts';
import type { ChallengeError } from '../base/refusal.ts';

export interface ChallengeParameters {
  readonly error?: ChallengeError | undefined;
  readonly errorDescription?: string | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly resourceMetadata: string;
}

export interface ChallengeSchemes {
  /** False where only bound tokens are taken. */
  readonly bearer: boolean;
  /** Algorithms of proofs, for the challenge of that scheme. */
  readonly dpopAlgorithms: readonly string[];
}

/** Both challenges. An error is in the one whose scheme it is about. */
export function writeChallenge(
  parameters: ChallengeParameters,
  { bearer, dpopAlgorithms }: ChallengeSchemes,
  errorScheme: 'bearer' | 'dpop',
): string {
  const { error, errorDescription, scope, resourceMetadata } = parameters;
  const about = (scheme: 'bearer' | 'dpop'): string => {
    const isMeant = scheme === errorScheme || !bearer;
    return written({
      error: isMeant ? error : undefined,
      error_description: isMeant && error !== undefined ? errorDescription : undefined,
      // RFC 6749 §3.3: an empty list is no scope.
      scope: scope === undefined || scope.length === 0 ? undefined : formatScope(scope),
      // RFC 9728 §5.1.
      resource_metadata: resourceMetadata,
      algs: scheme === 'dpop' ? dpopAlgorithms.join(' ') : undefined,
    });
  };
  return [...(bearer ? [`Bearer ${about('bearer')}`] : []), `DPoP ${about('dpop')}`].join(', ');
}

function written(parameters: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${escaped(value)}"`]))
    .join(', ');
}

/** RFC 9110 §5.6.4. What no header may hold at all is left out. */
function escaped(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, String.raw`\$&`);
}
