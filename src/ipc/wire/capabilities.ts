/** What a broker says of itself in the handshake. Nothing is decided by it but what an app shows. */

/** A capability: has neither the comma nor the line feed that the transcript joins with. */
export const capabilityPattern = /^[a-z0-9.-]{1,32}$/;

const versionPrefix = 'version-';

/** The capability by which a broker tells its release; none for one that can't be written so. */
export function versionCapability(version: string): string[] {
  const capability = `${versionPrefix}${version}`;
  return capabilityPattern.test(capability) ? [capability] : [];
}

/** The release that a broker's capabilities name. For display: nothing is decided by it. */
export function versionIn(capabilities: readonly string[]): string | undefined {
  return capabilities.find((item) => item.startsWith(versionPrefix))?.slice(versionPrefix.length);
}

/** The broker's capability that says: a user sits at it, and is asked before anything is widened. */
export const appCapability = 'keyturn-app';
