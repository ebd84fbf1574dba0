/**
 * The rules that the user may waive for one server that breaks them.
 *
 * Invariant: each exception breaks a MUST, so it is off unless the user set it for this server. None switches PKCE
 * off. Where the code reads an exception, a comment names the rule that it breaks.
 */

export interface Exceptions {
  /** Metadata may state another issuer than the one that led to it. The stated one then counts, for `iss` too. */
  readonly issuerMismatch?: boolean;
  /** The `resource` parameter is left out, for a server that refuses requests with it. */
  readonly noResource?: boolean;
  /** Metadata may be silent about PKCE. A list without S256 is refused all the same. */
  readonly noPkceMetadata?: boolean;
  /** A token may name another resource as its audience. */
  readonly otherAudience?: boolean;
  /** No waiver: the ID token itself is what is wanted, so that one which can't be validated is refused. */
  readonly needsIdToken?: boolean;
}

/** The `resource` parameter (RFC 8707 §2), byte for byte, unless the user waived it for this server. */
export function resourceParameter(
  resource: string,
  exceptions: Exceptions | undefined,
): { readonly resource?: string } {
  // Breaks "the client MUST send the resource parameter" (MCP, Resource Parameter Implementation).
  return exceptions?.noResource === true ? {} : { resource };
}
